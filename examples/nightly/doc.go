// Package nightly is an example without a program of its own: a job file that reads only what is new, as cron runs it (nightly.sh) and as a
// task of an orchestrator runs it (task.py). Its test runs both, night after night.
package nightly
