package executor

import (
	"fmt"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/sched"
)

// bottleneck names the stage whose workers were the limit for most of the time, those in a task now included. A stage that has ended is named
// only when all have.
func bottleneck(snap *sched.Snapshot, tasks []sched.TaskInfo) dataset.Bottleneck {
	load := make([]int64, len(snap.Stages))
	for i := range snap.Stages {
		load[i] = snap.Stages[i].LoadNs
	}
	for _, t := range tasks {
		if s := &snap.Stages[t.Stage]; t.Running || t.Reason.Policy == "blocking" || t.Reason.Policy == "async" {
			load[t.Stage] += t.SinceNs / int64(max(1, s.MaxWorkers))
		}
	}
	best := -1
	for i := range snap.Stages {
		if load[i] == 0 {
			continue
		}
		if best < 0 || better(&snap.Stages[i], &snap.Stages[best], load[i], load[best]) {
			best = i
		}
	}
	if best < 0 {
		return dataset.Bottleneck{Index: -1}
	}
	s := &snap.Stages[best]
	return dataset.Bottleneck{Stage: s.Name, Index: best, Why: whyBottleneck(s, snap)}
}

func better(a, b *sched.StageSnapshot, loadA, loadB int64) bool {
	if ended := a.State == "ended"; ended != (b.State == "ended") {
		return !ended
	}
	return loadA > loadB
}

// whyBottleneck is what of the stage is used up.
func whyBottleneck(s *sched.StageSnapshot, snap *sched.Snapshot) string {
	switch {
	case s.State == "ended":
		return fmt.Sprintf("most work for each of its %s", plural(s.MaxWorkers, "worker"))
	case s.InFlight > 0:
		return plural(s.InFlight, "call") + " in flight"
	case s.Reason.Policy == "blocking":
		return dataset.WaitReason{Policy: "blocking", Stage: s.Reason.Stage, Have: s.Reason.Have}.String()
	case s.Tasks >= s.MaxWorkers && s.MaxWorkers < snap.Slots:
		return fmt.Sprintf("%d of %s busy", s.Tasks, plural(s.MaxWorkers, "worker"))
	case snap.SlotsBusy >= snap.Slots && (s.Running > 0 || s.Reason.Policy == "slot"):
		return fmt.Sprintf("%d of %s busy", snap.SlotsBusy, plural(snap.Slots, "CPU"))
	case s.Running == 0 && s.Reason.Policy != "":
		return reason(s.Reason).String()
	}
	return plural(s.Running, "task") + " running"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func reason(r sched.Reason) dataset.WaitReason { return dataset.WaitReason(r) }
