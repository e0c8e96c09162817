#!/bin/sh
# Words that were ours where the field has a standard one are gone, from identifiers, file names
# and prose (docs/glossary.md has what is ours).
#   vocabulary.sh SOURCE
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Each line of the program, its tests and its documents, and each file name as a line of its own.
# The recording wav/voice.wav keeps its name.
find src gpu lv2 clap include tests bench docs README.md CONTRIBUTING.md -type f \
    \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' -o -name '*.sh' \
    -o -name '*.md' -o -name '*.1' -o -name '*.in' -o -name CMakeLists.txt \) \
    ! -name vocabulary.sh ! -name glossary.md | sort >"$work/files"
xargs grep -Hn '' <"$work/files" | sed 's/voice\.wav//g; s/voice-in-hall//g' >"$work/lines"
sed 's/.*/&:0:&/' "$work/files" >>"$work/lines"

# In the files that match (of `file:line:text`), a pattern of what is to be gone, and the word to use.
failed=0
gone() {
    if grep -E "^($1)" "$work/lines" | grep -P "^[^:]*:[0-9]*:.*($2)" >"$work/found"; then
        echo "$(wc -l <"$work/found") lines have what is now $3:"
        head -n 5 "$work/found" | cut -c -150
        failed=1
    fi
}
code='src|gpu|lv2|clap|tests|bench'
program='src|gpu|lv2|clap'
all='.'
b='(?<![A-Za-z0-9])' # where a word begins or ends, in an identifier too
e='(?![A-Za-z0-9])'

gone 'src/convolve|src/live|gpu' "${b}voices?$e" 'a slot'
gone 'lv2' "${b}voices?$e" 'a processor'
gone "$code" '\w_words\b|\bwords_\w|struct words|\bwords(->|\.\w)' 'args or a spec'
gone "$program" "${b}wish(es|ed)?$e" 'preferred_block'
# `tell` is libsndfile's own callback.
gone "$code" "\btell_\w|\w(?<!stream)(?<!file)_tells?\b|\w_told\b|\btold_\w" 'report or notify'
gone "$program" "enum status take_\w" 'parse_'
gone 'src/convolve|gpu' '\bstruct part\b|\bpart_(count|length|frames)\b|\bparts?(->|\[)' 'a partition'
gone "$code" "${b}racks?$e" 'plugin_instances'
gone "$code" '\w_apart\b|\bapart_\w' 'isolated'
gone "$code" "${b}relays?$e" 'io_thread'
gone "$all" "(?<!\")${b}passages?$e(?!\")" 'a region' # "passage" is a key of the logs
gone "$code" 'look_clock' 'poll_timer'
gone "$code" 'howl_guard' 'feedback_detector'
gone "$program" '\bstruct past\b|\w_past\b|\bpast_\w|/past\.' 'history'
gone "$program" '\w_hear\b|\bhear_\w|\w_introduce\b' 'feed or prime'
gone "$code" 'job_seize|\bjob_token|\btoken_' 'job_lock'
gone 'src/convolve|gpu|lv2' "${b}helpers?$e" 'a worker'
gone "$code" "${b}doctor$e" 'lint'
gone "$code" '\w_facts\b|\bfacts_\w|struct facts' 'stats'
gone "$code" '(mask|mask2d|plugin)_card' 'a summary'
gone "$program" '\w_sheet\b|\bsheet_\w|struct sheet' 'a figure'
gone "$program" '\w_panel\b|\bpanel_\w|struct panel' 'a plot'
gone "$code" "${b}lab(2d)?$e|laborator" 'a bench'
gone "$program" 'listen_fair|\w_fair\b' 'level_match'
gone "$program" 'listen/match\.|\bstruct match\b|\bmatch_delays?\b' 'delay_match'
gone "$code" 'near_names' 'suggest'
gone "$code" '\bnew_file\b|\bnew_file_\w' 'atomic_file'
gone "$code" 'base/draw\.|\bdraw_(bytes|numbers?|below)\b' 'secure_random'
gone "$code" 'shared_count' 'futex'
gone "$code" 'failures_keep' 'log_capture'
# It would end what a caller captures.
gone 'src|clap|lv2|gpu' 'log_capture\(NULL' 'log_keep_in and log_keep_again'
gone "$code" 'failures_come_from' 'log_prefix'
gone "$program" 'port_edge|(enum|struct) \w*edge\b' 'boundary'
gone "$program" '\bstruct room\b|\broom_bytes\b' 'capacity'

gone "$all" '(?i)\blikewise\b|\bat hand\b|\bonly now\b|\btold\b' 'plain English'
gone "$all" '(?i)\b(whither|thence|hitherto|henceforth|forthwith|lest|naught)\b' 'plain English'
exit $failed
