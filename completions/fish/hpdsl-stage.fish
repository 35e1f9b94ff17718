# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-stage

complete -c hpdsl-stage -F
complete -c hpdsl-stage -l mode -x -a 'auto replicate partition copies=' \
    -d 'which chunks each node holds'
complete -c hpdsl-stage -l capacity -x -d 'room for chunks on a node'
complete -c hpdsl-stage -l keep-compressed -d 'do not expand .tar.zst'
complete -c hpdsl-stage -l order-from -r -F \
    -d 'fetch in the order of a state'
complete -c hpdsl-stage -l pretend-nodes -x \
    -d 'split the ranks of one machine'
complete -c hpdsl-stage -l rate -x -d 'bytes a second from the origin'
complete -c hpdsl-stage -l memory -x -d 'memory for buffers, a node'
complete -c hpdsl-stage -l direct -d 'read past the page cache'
complete -c hpdsl-stage -l fsync -d 'sync each chunk'
complete -c hpdsl-stage -l recheck -d 'verify what is there'
complete -c hpdsl-stage -l deadline -x -d 'stop in time'
complete -c hpdsl-stage -l timeout -x -d 'end the job when a node hangs'
complete -c hpdsl-stage -l plan -d 'print what would be done'
complete -c hpdsl-stage -l nodes -x -d 'plan for N nodes'
complete -c hpdsl-stage -l rates -x -d 'bytes a second, for the plan'
complete -c hpdsl-stage -l rates-from -r -F \
    -d 'rates of an earlier report'
complete -c hpdsl-stage -l status -d 'print what is there'
complete -c hpdsl-stage -l clean -d 'remove what was staged'
complete -c hpdsl-stage -l report -r -F -d 'write what happened'
complete -c hpdsl-stage -s j -l threads -x -d 'threads for CPU work'
complete -c hpdsl-stage -s q -l quiet -d 'no progress and no summary'
complete -c hpdsl-stage -l json -d 'summary as one JSON object'
complete -c hpdsl-stage -l foreign-owner -d 'stage directories and outputs of others, too'
complete -c hpdsl-stage -s '?' -l help -d 'give this help list'
complete -c hpdsl-stage -l usage -d 'give a short usage message'
complete -c hpdsl-stage -s V -l version -d 'print program version'
