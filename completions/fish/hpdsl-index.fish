# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-index

complete -c hpdsl-index -f -a '(__fish_complete_directories) (__fish_complete_suffix .tar)'
complete -c hpdsl-index -s o -l output -x -a '(__fish_complete_directories)' -d 'index and manifest into DIR'
complete -c hpdsl-index -l force -d 'replace an index that a chunk contradicts'
complete -c hpdsl-index -l shuffled -d 'their author shuffled the samples'
complete -c hpdsl-index -l group -x -a 'key last none' -d 'what makes a sample'
complete -c hpdsl-index -l double-suffix -x -d 'a suffix with a dot inside'
complete -c hpdsl-index -l labels -r -F -a 'none dir dir: parent cls json:' -d 'what is the class'
complete -c hpdsl-index -l label-columns -x -d 'columns of a file with a header'
complete -c hpdsl-index -s j -l threads -x -d 'threads for CPU work'
complete -c hpdsl-index -s q -l quiet -d 'no progress and no summary'
complete -c hpdsl-index -l json -d 'summary as one JSON object'
complete -c hpdsl-index -l foreign-owner -d 'stage directories and outputs of others, too'
complete -c hpdsl-index -s '?' -l help -d 'give this help list'
complete -c hpdsl-index -l usage -d 'give a short usage message'
complete -c hpdsl-index -s V -l version -d 'print program version'
