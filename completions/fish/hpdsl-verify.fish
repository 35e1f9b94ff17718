# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-verify

complete -c hpdsl-verify -F
complete -c hpdsl-verify -l quick -d 'not the bytes of chunks'
complete -c hpdsl-verify -l peers -d 'chunks of other nodes, too'
complete -c hpdsl-verify -l thorough -d 'parse with two tar readers, too'
complete -c hpdsl-verify -l compat -x \
    -a 'all webdataset dali energon wids hf ray' \
    -d 'what other readers make of it'
complete -c hpdsl-verify -l source -r -F \
    -d 'compare with the original files'
complete -c hpdsl-verify -s j -l threads -x -d 'threads for CPU work'
complete -c hpdsl-verify -s q -l quiet -d 'no progress and no summary'
complete -c hpdsl-verify -l json -d 'summary as one JSON object'
complete -c hpdsl-verify -l foreign-owner -d 'stage directories and outputs of others, too'
complete -c hpdsl-verify -s '?' -l help -d 'give this help list'
complete -c hpdsl-verify -l usage -d 'give a short usage message'
complete -c hpdsl-verify -s V -l version -d 'print program version'
