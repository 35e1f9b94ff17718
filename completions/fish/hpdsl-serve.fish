# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-serve

complete -c hpdsl-serve -F
complete -c hpdsl-serve -l no-tcp -d 'serve tools of this node alone'
complete -c hpdsl-serve -l detach -d 'go on in the background'
complete -c hpdsl-serve -l idle -x -d 'end after so long without a request'
complete -c hpdsl-serve -l interface -x -d 'listen on its address alone'
complete -c hpdsl-serve -l hosts -r -F -d 'the nodes, a line each'
complete -c hpdsl-serve -l secret -r -F -d 'file with 64 hexadecimal digits'
complete -c hpdsl-serve -l node -x -d 'which of them this is'
complete -c hpdsl-serve -l peer-port -x -d 'first of 16 ports'
complete -c hpdsl-serve -l rate -x -d 'give others at most so much a second'
complete -c hpdsl-serve -l deadline -x -d 'end after so much time'
complete -c hpdsl-serve -l memory-cache -x -d 'keep fetched chunks in memory'
complete -c hpdsl-serve -l status -d 'print what the server has done'
complete -c hpdsl-serve -l stop -d 'let the server end'
complete -c hpdsl-serve -l probe -d 'ask whether all nodes answer'
complete -c hpdsl-serve -l report -r -F -d 'file for an account in the end'
complete -c hpdsl-serve -s q -l quiet -d 'only warnings and errors'
complete -c hpdsl-serve -l json -d 'status as one JSON object'
complete -c hpdsl-serve -s '?' -l help -d 'give this help list'
complete -c hpdsl-serve -l usage -d 'give a short usage message'
complete -c hpdsl-serve -s V -l version -d 'print program version'
