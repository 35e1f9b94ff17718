# SPDX-License-Identifier: Apache-2.0
# fish completion for hpdsl-pack

complete -c hpdsl-pack -F
complete -c hpdsl-pack -l files-from -r -F -d 'pack the paths in FILE'
complete -c hpdsl-pack -s 0 -l null -d 'paths in FILE end with NUL'
complete -c hpdsl-pack -l from-snapshot -r -F \
    -d 'FILE is a snapshot of INPUT'
complete -c hpdsl-pack -l snapshot -r -F -d 'write a snapshot of the dataset'
complete -c hpdsl-pack -l include -x -d 'only files that match'
complete -c hpdsl-pack -l exclude -x -d 'no files or folders that match'
complete -c hpdsl-pack -l symlinks -x -a 'follow follow-all' \
    -d 'what becomes of links'
complete -c hpdsl-pack -l keep-litter \
    -d 'pack what desktops and file systems leave behind, too'
complete -c hpdsl-pack -l prefix-input \
    -d 'begin paths with the name of their INPUT'
complete -c hpdsl-pack -l group -x -a 'key last none' -d 'what makes a sample'
complete -c hpdsl-pack -l double-suffix -x -d 'a suffix with a dot inside'
complete -c hpdsl-pack -l labels -r -F -a 'none dir dir: parent cls json:' \
    -d 'what is the class'
complete -c hpdsl-pack -l label-columns -x \
    -d 'columns of a file with a header: NAME,CLASS'
complete -c hpdsl-pack -l nested -d 'unpack archives in an archive too'
complete -c hpdsl-pack -l strict -d 'refuse archives that are odd'
complete -c hpdsl-pack -l cls -d 'add members with the class number'
complete -c hpdsl-pack -l for -x -a 'webdataset dali energon wids torch' \
    -d 'as these readers want it'
complete -c hpdsl-pack -l names -x -a 'keep portable' \
    -d 'what names members get'
complete -c hpdsl-pack -l zstd -d 'compress chunks'
complete -c hpdsl-pack -l digest -x -a 'xxh3 sha256' -d 'kind of checksums'
complete -c hpdsl-pack -l emit -x -a 'dali energon wids' \
    -d 'index files of other readers'
complete -c hpdsl-pack -l shuffle -x -a 'global none' -d 'order of samples'
complete -c hpdsl-pack -l seed -x -d 'which random order'
complete -c hpdsl-pack -l chunk-size -x -d 'mean size of a chunk'
complete -c hpdsl-pack -l chunks -x -d 'number of chunks'
complete -c hpdsl-pack -l samples-per-chunk -x -d 'samples in a chunk'
complete -c hpdsl-pack -l multiple-of -x \
    -d 'make the number of chunks a multiple of N'
complete -c hpdsl-pack -l meta -x -d 'put into the manifest'
complete -c hpdsl-pack -l readers -x -d 'files read at a time'
complete -c hpdsl-pack -l memory -x -d 'memory for buffers'
complete -c hpdsl-pack -l resume -d 'complete an interrupted run'
complete -c hpdsl-pack -l force -d 'replace the dataset in OUTPUT'
complete -c hpdsl-pack -l deadline -x -d 'stop in time'
complete -c hpdsl-pack -s n -l dry-run -d 'print what would be made'
complete -c hpdsl-pack -l config -r -F -d 'options from a YAML file'
complete -c hpdsl-pack -s j -l threads -x -d 'threads for CPU work'
complete -c hpdsl-pack -s q -l quiet -d 'no progress and no summary'
complete -c hpdsl-pack -l json -d 'summary as one JSON object'
complete -c hpdsl-pack -l foreign-owner -d 'stage directories and outputs of others, too'
complete -c hpdsl-pack -s '?' -l help -d 'give this help list'
complete -c hpdsl-pack -l usage -d 'give a short usage message'
complete -c hpdsl-pack -s V -l version -d 'print program version'
