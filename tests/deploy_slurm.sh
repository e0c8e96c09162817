#!/usr/bin/env bash
# The recipe in deploy/slurm, run by a Slurm of its own: a controller and two nodes on this machine,
# without systemd and cgroups. A file is poisoned, a shard is empty, and a node is killed in the middle
# of a shard; the outputs are then byte for byte those of one run.
#
#   deploy_slurm.sh HALO SOURCE
#
# All processes carry a mark in their environment, by which they are ended, also if this script is killed.
set -euo pipefail
halo=$(realpath "$1") source=$(realpath "$2")
for program in munged slurmctld slurmd sbatch; do
    command -v "$program" >/dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
for variable in $(compgen -e | grep -E '^(SLURM|SBATCH)' || true); do unset "$variable"; done

# ---- what is started, and how it ends ----

folder=$(mktemp -d "${TMPDIR:-/tmp}/halo-slurm-XXXXXX")
chmod 755 "$folder"
mark="HALO_TEST_SLURM=$folder"

# process_ids ASSIGNMENT: of those with that in their environment
process_ids() { (grep -lszFx "$1" /proc/[0-9]*/environ || true) | cut -d/ -f3; }

end_marked() { # they start others meanwhile
    for _ in $(seq 100); do
        ids=$(process_ids "$mark")
        [ -n "$ids" ] || return 0
        # shellcheck disable=SC2086
        kill -KILL $ids 2>/dev/null || true
        sleep 0.1
    done
}
end_all() {
    end_marked
    rm -rf "$folder"
}

# A guard in a session of its own ends all once this script has died, however that came: then nobody
# has the other end of the pipe open any more.
mkfifo "$folder/alive"
(
    trap '' HUP INT TERM
    export mark folder
    export -f process_ids end_marked end_all
    # shellcheck disable=SC2016
    setsid bash -c 'read -r _ <"$folder/alive"; end_all' >/dev/null 2>&1 </dev/null &
)
exec 9>"$folder/alive"
trap end_all EXIT
trap 'exit 1' HUP INT TERM

cd "$folder"
# No process keeps the pipe open, or what this script's output goes to.
marked() { env "$mark" "$@" 9>&-; }
start() { marked "$@" </dev/null >>log/start 2>&1; }

fail() {
    echo "$*" >&2
    tail -n 20 log/* >&2
    exit 1
}

# wait_for SECONDS WHAT...
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.3
    done
}

# ---- a Slurm ----

free_ports() {
    python3 -c '
import random, socket
ports = random.sample(range(20000, 32000), 300)
free = []
for port in ports:
    with socket.socket() as one:
        try:
            one.bind(("", port))
            free.append(port)
        except OSError:
            pass
print(*free[:3])'
}

write_configuration() {
    local host user controller one two
    host=$(uname -n | cut -d. -f1) user=$(id -un)
    read -r controller one two <<<"$(free_ports)"
    cat >slurm.conf <<EOF
ClusterName=halotest
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
SlurmdTimeout=20
MinJobAge=3600
ReturnToService=2
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmdLogFile=$folder/log/%n
SlurmctldLogFile=$folder/log/slurmctld
SlurmdPidFile=$folder/run/%n
SlurmctldPidFile=$folder/run/slurmctld
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$one CPUs=1 RealMemory=1000
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$two CPUs=1 RealMemory=1000
PartitionName=main Nodes=n1,n2 Default=YES State=UP
EOF
    # Plain containers have none that can be written to: the plugin that looks for none as long as
    # nothing is confined.
    echo CgroupPlugin=cgroup/v1 >cgroup.conf
}

nodes_are_idle() { [ "$(sinfo -h -N -o %t | grep -cx idle)" = 2 ]; }

begin_slurm() {
    rm -rf run log state munge slurm.conf spool.*
    mkdir -p run log state munge
    write_configuration
    export SLURM_CONF=$folder/slurm.conf
    (umask 077 && head -c 1024 /dev/urandom >munge/key)
    start munged --force --key-file="$folder/munge/key" --socket="$folder/run/munge" \
        --pid-file="$folder/run/munged" --log-file="$folder/log/munged" \
        --seed-file="$folder/munge/seed" &&
        start slurmctld -f "$SLURM_CONF" &&
        start env HALO_TEST_NODE="n1 $folder" slurmd -f "$SLURM_CONF" -N n1 &&
        start env HALO_TEST_NODE="n2 $folder" slurmd -f "$SLURM_CONF" -N n2 &&
        wait_for 60 nodes_are_idle
}

# Somebody may take a port meanwhile.
begin_slurm || { end_marked; begin_slurm; } || { end_marked; begin_slurm; } ||
    fail "Slurm does not start"

# ---- a list of jobs ----

PATH=$(dirname "$halo"):$PATH
shards=8 sounds=14
mkdir in
python3 - $sounds <<'EOF'
import os, struct, sys, wave
def noise(name, frames, quiet):
    with wave.open(name, "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        samples = struct.unpack(f"<{frames}h", os.urandom(2 * frames))
        file.writeframes(struct.pack(f"<{frames}h", *(sample // quiet for sample in samples)))
for i in range(int(sys.argv[1])):
    noise(f"in/s{i:02}.wav", 16000 + 997 * i, 4)
noise("in/gate.wav", 9000, 4)
noise("room.wav", 800, 40)
EOF
echo poison >in/s03.wav
# A job that says where it runs, and ends when it may.
cat >gate.sh <<'EOF'
echo "${SLURMD_NODENAME:-none}" >begun.new && mv begun.new begun
until [ -e opened ]; do sleep 0.1; done
cat in/gate.wav
EOF
for i in $(seq -w 0 $((sounds - 1))); do echo "u$i in/s$i.wav"; done >wav.scp
echo "gate sh gate.sh |" >>wav.scp
arguments=(--from kaldi wav.scp --allow-commands --mask room.wav --tail none)

touch opened
code=0
halo batch "${arguments[@]}" -O want -q 2>log/want || code=$?
[ "$code" = 3 ] || fail "one run: exit code $code"
rm -f opened begun

# ---- the recipe, and a node that is killed ----

array=$(marked sbatch --parsable --array=0-$((shards - 1)) --cpus-per-task=1 \
    "$source/deploy/slurm/shard.sbatch" "${arguments[@]}" -O out)
report=$(marked sbatch --parsable --dependency=afterany:"${array%%;*}" \
    "$source/deploy/slurm/report.sbatch" out)

wait_for 120 test -e begun || fail "the shard of the job 'gate' has not begun"
node=$(cat begun)
mkdir -p before
stat -c '%i %n' out/*.wav | sort >before/outputs
doomed=$({ process_ids "HALO_TEST_NODE=$node $folder"; process_ids "SLURMD_NODENAME=$node"; } | sort -u)
ours=$(process_ids "$mark")
doomed=$(comm -12 <(sort <<<"$doomed") <(sort <<<"$ours"))
# Some versions start slurmstepd with an empty environment.
for id in $doomed; do
    parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$id/status" 2>/dev/null || true)
    [ "$(cat "/proc/${parent:-0}/comm" 2>/dev/null || true)" != slurmstepd ] || doomed="$parent $doomed"
done
[ "$(wc -w <<<"$doomed")" -ge 4 ] || fail "slurmd, slurmstepd, halo and the job were to be killed"
# All at once: slurmstepd must not live to say that its job has failed. Children before parents:
# what is left behind stopped is sent SIGHUP and goes on, and halo would have the time to say so.
doomed=$(tr -s ' ' '\n' <<<"$doomed" | sort -rnu)
# shellcheck disable=SC2086
kill -STOP $doomed 2>/dev/null
# shellcheck disable=SC2086
kill -KILL $doomed 2>/dev/null
touch opened

# A shard of a lost node is queued again, and would wait for some minutes.
is_reported() {
    for task in $(squeue -h -r -t PENDING -o '%i %r' | sed -n 's/ BeginTime$//p'); do
        scontrol update jobid="$task" starttime=now || true
    done
    [ "$(scontrol -o show job "$report" | grep -o 'JobState=[A-Z]*')" = JobState=COMPLETED ]
}
wait_for 400 is_reported || { squeue -r >log/queue 2>&1; fail "the report has not come"; }

# ---- what became of it ----

grep -h -E "shard|job" halo-*.out
expect() { grep -q -- "$1" "${@:2}" || fail "$*: not there"; }

# All outputs and no more; those that were made before were not made again.
diff -r -x .halo-batch -x '*.scp' want out || fail "the shards are not the one run"
cat out/wav.*-of-$shards.scp | sed 's, out/, want/,' | sort | cmp - <(sort want/wav.scp) ||
    fail "the shards' manifests are not that of the one run"
stat -c '%i %n' out/*.wav | sort | comm -13 - before/outputs >before/again
[ ! -s before/again ] || fail "made again: $(cat before/again)"
killed=$(grep -l '"id":"gate"' out/.halo-batch/*.jsonl | sed 's,.*/\([0-9]*\)-of.*,\1,')
log=halo-${array}_$((killed - 1)).out
[ "$(grep -c "shard $killed of $shards, by SLURM_ARRAY_TASK_ID" "$log")" -ge 2 ] || fail "$log: not twice"
expect " were done, 0 failed, 0 left" "$log"
! grep -q " 0 were done" "$log" || fail "$log: nothing had been done before the node was lost"
expect "^halo: 0 jobs: " halo-"$array"_*.out

# Exit codes: 3 of the shard of the poisoned file, 0 of the others.
scontrol -o show job "$array" | sed 's/.*ArrayTaskId=\([0-9]*\).*ExitCode=\([0-9:]*\).*/\1 \2/' |
    sort -n >codes
poisoned=$(grep -l '"id":"u03"' out/.halo-batch/*.jsonl | sed 's,.*/\([0-9]*\)-of.*,\1,')
for k in $(seq $shards); do
    if [ "$k" = "$poisoned" ]; then echo "$((k - 1)) 3:0"; else echo "$((k - 1)) 0:0"; fi
done | diff - codes || fail "tasks and their exit codes"
expect "^$sounds of $((sounds + 1)) jobs done, 1 failed; $shards of $shards shards begun, 0 not ended" \
    halo-report-"$report".out
expect "^u03: .*in/s03.wav" halo-report-"$report".out
echo "all of $shards shards on two nodes, $node killed, after $SECONDS s"
