// Package commit makes the rows that reach a sink count exactly once.
//
// There is one Manager for each sink of a run. It locks the target, journals what is read, opens the writers of parts, follows the
// tokens of blocks until no row is under way any more, and commits: the parts of a generation are made durable in a hidden folder,
// then one log record names them together with the ranges of input that they hold. That record is the commit point. At the end the
// parts are published by rename and a numbered manifest, created only if absent, becomes the truth about the target.
//
// Below the target's state storage lie:
//
//	lock                    held while a run is at work
//	manifest/%020d.json     one for each finished run, naming its predecessor (manifest.go)
//	RUN/log/%08d            the run's log in segments (runlog.go, record.go)
//	RUN/dead/%08d           rows that failed, as lines of JSON (deadletter.go), listed by the records of the log
//	RUN/published           the run's manifest exists and its parts are in place
//	RUN/stage/              the sink's own: parts that are not published
//
// A crash at any moment leaves either a log without a finish record, with which the same command goes on (resume.go), or one with it,
// whose publication is repeated by the next Look. Nothing is visible before the finish record is durable. A run that has committed
// nothing, like one whose rows all come from behind a sort, begins anew.
//
// To go on with a run is to take the splits from its journal instead of listing them (journal.go), to leave out what its generations
// hold (done.go), and to drop rows that a sink has while another one lacks them. feed.go gives a source's reader all of this. An incremental
// run (incremental.go) leaves out the files that the journals of the whole chain name.
//
// A token that drains says that no row of it is under way. That is no proof that its rows arrived if the run is failing: whoever makes
// it fail calls Freeze before a block is let go of.
//
// The package does not know stages, tasks or operators, and writes no data itself. Read manager.go first, then generation.go
// (what commits when), prepare.go (what happens to a target that has data) and finish.go (publication).
package commit
