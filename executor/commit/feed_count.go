package commit

// journaled is how many splits of a source the log held when the run was resumed.
func (m *Manager) journaled(source uint32) int64 {
	if m.past == nil {
		return 0
	}
	if s := m.past.sources[m.own(source)]; s != nil {
		return s.splits
	}
	return 0
}

// countRecord tells whether all sinks have all splits of a record behind split at, and have journaled them, and counts them then.
func (f *Feed) countRecord(r *splitsRecord, at int64) bool {
	if f.reread {
		return false
	}
	for _, m := range f.managers {
		if m.journaled(f.source) <= at+r.splits {
			return false
		}
		own := m.past.sources[m.own(f.source)]
		if !m.ended && r.ranges > 0 && !own.done.holdsFiles(r.first-f.journal.shift+own.shift, r.last-f.journal.shift+own.shift) {
			return false
		}
	}
	for _, m := range f.managers {
		f.counts[m].Ranges += r.ranges
		f.counts[m].Done += r.ranges
	}
	return true
}

// count counts the ranges of a journaled split and tells whether all sinks have all of it.
func (f *Feed) count(v *splitView, at int64) (all bool) {
	all = true
	for _, m := range f.managers {
		if m.past == nil {
			all = false
			continue
		}
		own, c := m.past.sources[m.own(f.source)], f.counts[m]
		for i := range v.ranges {
			r := &v.ranges[i]
			has := m.ended
			if !has && own != nil {
				has = own.done.covers(r.ordinal-f.journal.shift+own.shift, r.start, r.end)
			}
			all = all && has
			if m.journaled(f.source) > at {
				c.Ranges++
				if has {
					c.Done++
				}
			}
		}
	}
	return all
}
