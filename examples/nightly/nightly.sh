#!/bin/sh
# nightly.sh IN OUT: the job as cron runs it.
#
#   15 2 * * *  /opt/curate/nightly.sh /data/incoming /data/curated/ >>/var/log/nightly.log
#
# Only files that no night has read yet are read. A night that was killed, or whose disk was full, goes on where it stopped when the script
# runs again; a second one at the same time is refused. What is printed is for people: cron mails it.
set -u
here=$(dirname "$0")
sluice=${SLUICE:-sluice}
in=$1
out=$2
events=${EVENTS:-/dev/null}

"$sluice" --quiet --incremental --changed skip --on-error dead-letter --max-error-rate 1% --events "json:$events" \
    run "$here/job.yaml" --set "in=$in" --set "out=$out"
code=$?
case $code in
0) ;; # done, or nothing was new
3) # done, and some rows were set aside: not a failure, but somebody should look
    "$sluice" errors "$out"
    exit 0
    ;;
130) echo "interrupted; the next run goes on from here" ;;
*) echo "failed with exit code $code; nothing half-written is visible, and the next run goes on from here" ;;
esac
exit $code
