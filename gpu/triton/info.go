package triton

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

// details is what the first call of Info found out.
type details struct {
	info     gpu.Info
	dialect  dialect
	deadline time.Duration // the longest time-out that the server heeds as a parameter; 0 means none
}

// Info implements gpu.Model. The server is asked once; a failure is not remembered. Each call gives a copy with the present Notes and Parallel.
func (m *Model) Info(ctx context.Context) (*gpu.Info, error) {
	d, err := m.details(ctx)
	if err != nil {
		return nil, err
	}
	info := d.info
	info.Notes = slices.Concat(d.info.Notes, m.regions.notes())
	info.Parallel = m.load.corrected(info.Parallel)
	return &info, nil
}

func (m *Model) details(ctx context.Context) (*details, error) {
	m.mu.Lock()
	d := m.mu.info
	m.mu.Unlock()
	if d != nil {
		return d, nil
	}
	d, err := m.ask(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.info == nil {
		m.mu.info = d
		m.regions.decide(d.dialect)
	}
	return m.mu.info, nil
}

// ask puts the description together.
func (m *Model) ask(ctx context.Context) (*details, error) {
	kind, err := m.dialect(ctx)
	if err != nil {
		return nil, err
	}
	call, cancel := m.bounded(ctx)
	defer cancel()
	meta, err := m.conns.rpc().ModelMetadata(call, &pb.ModelMetadataRequest{Name: m.name, Version: m.version})
	if err != nil {
		return nil, m.classify(ctx, "ask for model "+m.name, err)
	}
	d := &details{dialect: kind}
	d.info = gpu.Info{Name: m.name, Version: m.version, Platform: meta.Platform, Inputs: tensorInfos(meta.Inputs), Outputs: tensorInfos(meta.Outputs)}
	if d.info.Version == "" {
		d.info.Version = latest(meta.Versions)
	}
	if len(meta.Inputs) == 0 {
		d.info.Notes = append(d.info.Notes, "the server does not describe the model's inputs")
	}
	config, note, err := m.optionalConfig(ctx, call)
	if err != nil {
		return nil, err
	}
	if note != "" {
		d.info.Notes = append(d.info.Notes, note)
	}
	d.configure(config)
	return d, nil
}

// latest picks the highest of a model's versions, which servers use unless told otherwise.
func latest(versions []string) string {
	best, top := "", int64(-1)
	for _, v := range versions {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > top {
			best, top = v, n
		} else if best == "" {
			best = v
		}
	}
	return best
}

func tensorInfos(list []*pb.ModelMetadataResponse_TensorMetadata) []gpu.TensorInfo {
	out := make([]gpu.TensorInfo, 0, len(list))
	for _, t := range list {
		out = append(out, gpu.TensorInfo{Name: t.Name, Type: gpu.DataType(t.Datatype), Shape: t.Shape})
	}
	return out
}

// configure adds what Triton's configuration tells.
func (d *details) configure(c *pb.ModelConfig) {
	if c == nil {
		return
	}
	d.info.MaxBatch = int(c.MaxBatchSize)
	d.info.Decoupled = c.GetModelTransactionPolicy().GetDecoupled()
	d.info.Parallel = instances(c)
	if d.info.Platform == "" {
		d.info.Platform = c.Backend
	}
	if len(c.Parameters) > 0 {
		d.info.Meta = map[string]string{}
		for k, v := range c.Parameters {
			d.info.Meta[k] = v.StringValue
		}
	}
	// Without a default time-out the server ignores the parameter silently, and it may only shorten.
	if q := c.GetDynamicBatching().GetDefaultQueuePolicy(); q.GetAllowTimeoutOverride() && q.GetTimeoutAction() == pb.ModelQueuePolicy_REJECT {
		d.deadline = time.Duration(q.DefaultTimeoutMicroseconds) * time.Microsecond
	}
}

// instances counts the instances of a model: of each group, so many on each of its devices. 0 is for ensembles, which have none.
func instances(c *pb.ModelConfig) int {
	if c.GetEnsembleScheduling() != nil {
		return 0
	}
	n := 0
	for _, g := range c.InstanceGroup {
		if g.Passive {
			continue
		}
		n += int(max(g.Count, 1)) * max(len(g.Gpus), 1)
	}
	return max(n, 1)
}
