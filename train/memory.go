package train

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"

	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/vernier-ml/vernier/engine"
	"github.com/vernier-ml/vernier/eval"
	"github.com/vernier-ml/vernier/internal/setting"
	"github.com/vernier-ml/vernier/layers"
	"github.com/vernier-ml/vernier/losses"
	"github.com/vernier-ml/vernier/run"
)

// MemoryPlan is what a run takes of the host's memory, in bytes. On a device that has
// memory of its own, what lies there counts as its Device alone.
type MemoryPlan struct {
	Program     int64 `json:"program"`     // resident before the network was made
	Weights     int64 `json:"weights"`     // and running statistics
	Optimizer   int64 `json:"optimizer"`   // its moments, and the average of the weights
	Activations int64 `json:"activations"` // with all gradients, as planned
	Workspace   int64 `json:"workspace"`   // of the engine; 0 before the first step
	Memory      int64 `json:"memory"`      // of earlier batches, beside its embeddings and distances
	Loss        int64 `json:"loss"`        // its matrix on the host, with the gradient
	Batches     int64 `json:"batches"`     // prepared ahead, and the one in use
	Pictures    int64 `json:"pictures"`    // kept decoded
	// Aside is what a validation or a checkpoint takes for its time.
	Aside int64 `json:"aside"`
	// Collector is what the garbage collector lets gather, a share of what it is
	// responsible for.
	Collector int64 `json:"collector"`
	// End is what all takes in the final measurement, which comes after the others
	// have been given back.
	End int64 `json:"end"`
	// Device is nil where the host computes.
	Device *DevicePlan `json:"device,omitempty"`
}

// Total is the most that is taken at any time.
func (p MemoryPlan) Total() int64 { return max(p.Training(), p.End) }

// Training adds up what training takes.
func (p MemoryPlan) Training() int64 {
	return p.Program + p.Weights + p.Optimizer + p.Activations + p.Workspace + p.Memory + p.Loss + p.Batches + p.Pictures + p.Aside + p.Collector
}

func (p MemoryPlan) String() string {
	memory := ""
	if p.Memory > 0 {
		memory = fmt.Sprintf("memory of earlier batches %d, ", p.Memory>>20)
	}
	if p.Device != nil {
		return fmt.Sprintf("%d MiB of the host: program %d, %sloss %d, batches %d, decoded pictures %d, checkpoint %d, garbage %d; the final measurement %d",
			p.Total()>>20, p.Program>>20, memory, p.Loss>>20, p.Batches>>20, p.Pictures>>20, p.Aside>>20, p.Collector>>20, p.End>>20)
	}
	return fmt.Sprintf("%d MiB: program %d, weights %d, optimizer %d, activations and gradients %d, workspace %d, %sloss %d, batches %d, decoded pictures %d, validation or checkpoint %d, garbage %d; the final measurement %d",
		p.Total()>>20, p.Program>>20, p.Weights>>20, p.Optimizer>>20, p.Activations>>20, p.Workspace>>20, memory, p.Loss>>20, p.Batches>>20, p.Pictures>>20, p.Aside>>20, p.Collector>>20, p.End>>20)
}

// gcPercent is how much garbage may gather while a run trains, in terms of what
// is in use. That is mostly numbers, which the collector need not look at, so a
// low share costs little.
const gcPercent = 30

// collectOften lets less garbage gather, until the function that it returns is
// called.
func collectOften() (restore func()) {
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// planner says what a run takes of memory.
type planner struct {
	*setup
	stepper *stepper
	feeder  *feeder
	program int64 // bytes resident before the network was made
}

func (s *Session) planner() *planner {
	return &planner{s.setup, s.stepper, s.feeder, s.program}
}

// plan says what the run takes as it is built.
func (s *planner) plan() MemoryPlan {
	p := MemoryPlan{Program: s.program, Activations: s.stepper.net.bytes()}
	for _, v := range s.model.Params.All() {
		p.Weights += 4 * int64(v.Value.Size())
	}
	for _, t := range s.stepper.opti.State() {
		p.Optimizer += 4 * int64(t.Value.Size())
	}
	if s.stepper.average != nil {
		p.Optimizer += s.stepper.average.Bytes()
	}
	if w, ok := s.model.Params.Engine().(engine.Workspacer); ok {
		p.Workspace = w.Workspace()
	}
	sent := int64(0)
	for _, in := range s.stepper.net.inlets {
		sent += in.bytes()
	}
	if m := s.stepper.net.micro; m != nil && m.once == nil {
		for _, t := range m.sums {
			p.Optimizer += 4 * int64(t.Size())
		}
	}
	if s.feeder.trainer != nil {
		p.Batches = s.feeder.trainer.InFlight(s.cfg.Batch())
		_, p.Pictures = s.feeder.trainer.Cached()
	}
	p.Batches += sent
	p.Memory = losses.MemoryOptions{Size: s.cfg.Loss.Memory}.Bytes(s.cfg.Batch(), s.cfg.Model.ComparedDim())
	// A checkpoint holds one of its tensors at a time; a run with class rows begins with
	// embeddings of some training images, which place them.
	p.Aside = max(s.largest(), s.placing())
	validation := int64(0)
	if s.sets.Validation != nil {
		validation = s.model.EmbedderBytes(run.EmbedBatchOf(s.model))
	}
	if s.device() != nil {
		p.Device = &DevicePlan{Weights: p.Weights, Optimizer: p.Optimizer, Activations: p.Activations, Workspace: p.Workspace, Batches: sent, Validation: validation}
		p.Device.End = s.deviceEnd(*p.Device)
		p.Weights, p.Optimizer, p.Activations, p.Workspace = 0, 0, 0, 0
	} else {
		p.Aside = max(p.Aside, validation)
	}
	p.Loss = s.lossBytes()
	p.Collector = gcPercent * (s.listBytes() + p.Weights + p.Optimizer + p.Workspace + p.Memory + p.Batches + p.Pictures) / 100
	p.End = s.endBytes(p)
	return p
}

// largest is what the largest tensor of a checkpoint takes.
func (s *planner) largest() (bytes int64) {
	for _, v := range s.model.Params.All() {
		bytes = max(bytes, 4*int64(v.Value.Size()))
	}
	return bytes
}

// itemBytes is what an item of a list of images takes, its name included.
const itemBytes = 110

// listBytes is what the lists of images take: of all, and once more divided.
func (s *planner) listBytes() int64 { return 2 * int64(len(s.sets.All.Items)) * itemBytes }

// lossBytes is what a loss that the host computes keeps of its matrix: that as float32
// and as float64, the gradient, and what the loss sees of the metric with its slope.
func (s *planner) lossBytes() int64 {
	if s.stepper.net.loss.OnEngine() {
		return 0
	}
	columns := s.cfg.Batch() + s.cfg.Loss.Memory
	if loss, err := s.cfg.NewLoss(len(s.sets.Train.Classes)); err == nil && loss.Columns() == losses.Classes {
		columns = len(s.sets.Train.Classes) * losses.PerClass(loss)
	}
	return (4 + 4*8) * int64(s.cfg.Batch()) * int64(columns)
}

// placing is what the embeddings take that class rows start from, and the list of their
// images.
func (s *planner) placing() int64 {
	if s.cfg.Loss.Start == "random" || !learns(s.model) {
		return 0
	}
	classes := int64(len(s.sets.Train.Classes))
	images := min(int64(len(s.sets.Train.Items)), classes*meanImages)
	h := int64(s.model.Spec.Dim)
	return images*(4*h+itemBytes) + 2*8*classes*h + s.model.EmbedderBytes(run.EmbedBatchOf(s.model))
}

// fits refuses a run that takes more than there is, on the host or on the device.
func (s *planner) fits() error {
	e := &RoomError{Plan: s.plan(), Room: s.room(), Limit: s.opt.Memory}
	if e.Plan.Total() > e.Room {
		return e
	}
	if e.Plan.Device == nil {
		return nil
	}
	var err error
	if e.DeviceRoom, err = s.deviceRoom(); err != nil {
		return err
	}
	if e.Plan.Device.Total() > e.DeviceRoom {
		e.Device = s.model.Params.Engine().Name()
		return e
	}
	return nil
}

// room is what the process may take of the host's memory in all, in bytes.
func (s *planner) room() int64 {
	room := int64(math.MaxInt64)
	if m, err := mem.VirtualMemory(); err == nil {
		room = int64(m.Available) + resident()
	}
	if s.opt.Memory > 0 {
		room = min(room, s.opt.Memory)
	}
	return room
}

// RoomError says that a run does not fit into memory.
type RoomError struct {
	Plan  MemoryPlan
	Room  int64 // bytes
	Limit int64 // that was set; 0 for none
	// Device is the engine whose own memory is short, with DeviceRoom; empty where it
	// is the host's.
	Device     string
	DeviceRoom int64
}

// What makes a run smaller: formats for the names of settings.
const (
	smaller = "compute blocks twice instead of keeping them with %s (the same result), embed batches in parts with %s, or lower %s, %s or %s"
	// memoryHint is for runs with a memory of earlier batches.
	memoryHint = ", or keep fewer embeddings with %s"
	endHint    = "what the final measurement takes grows with the test images: leave them more room, or test on fewer classes"
)

func (e *RoomError) Error() string { return e.Unwrap().Error() }

// Unwrap is the message, with the settings that it names.
func (e *RoomError) Unwrap() error {
	names := []any{setting.Name("run.recompute"), setting.Name("micro_batch"), setting.Name("classes_per_batch"), setting.Name("images_per_class"), setting.Name("model.input.size")}
	if e.Device != "" {
		hint := smaller
		if e.Plan.Device.Training() <= e.DeviceRoom {
			hint, names = endHint, nil
		}
		return setting.Errorf("the run does not fit into the memory of %s: it takes %v; %d MiB are available; "+hint, append([]any{e.Device, *e.Plan.Device, e.DeviceRoom >> 20}, names...)...)
	}
	room := fmt.Sprintf("%d MiB are available", e.Room>>20)
	if e.Limit == e.Room {
		room = fmt.Sprintf("the limit is %d MiB", e.Limit>>20)
	}
	hint := smaller
	if e.Plan.Memory > 0 {
		hint, names = hint+memoryHint, append(names, setting.Name("loss.memory"))
	}
	if e.Plan.Training() <= e.Room {
		hint, names = endHint, nil
	}
	return setting.Errorf("the run does not fit into memory: it takes %v; %s; "+hint, append([]any{e.Plan, room}, names...)...)
}

// resident is the memory of this process, 0 where that is not known.
func resident() int64 {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return 0
	}
	m, err := p.MemoryInfo()
	if err != nil {
		return 0
	}
	return int64(m.RSS)
}

// countParams returns how many numbers are trained and how many are not.
func countParams(ps *layers.Params) (trained, frozen int) {
	for _, p := range ps.All() {
		switch {
		case p.Trainable():
			trained += p.Value.Size()
		case p.Role != layers.Buffer:
			frozen += p.Value.Size()
		}
	}
	return trained, frozen
}

// endBytes is what a run takes at its end: the network that is measured and the
// untrained one, all test images as rows (those of the model, those that are measured,
// which grow, and once more laid out for distances), blocks of distances, the pairs
// whose distances are drawn, and pictures.
func (s *planner) endBytes(p MemoryPlan) int64 {
	n := int64(len(s.sets.Test.Items))
	widest := s.widest()
	rows := 4 * n * (int64(s.model.Spec.Dim) + 4*widest)
	blocks := min(eval.DefaultMemory, 8*1024*n)
	// The set is opened once more while the lists and the loss of training are still there.
	rows += s.listBytes() + p.Loss
	heap := 3*p.Weights + p.Workspace + p.Pictures + rows + blocks + endFixed
	if p.Device == nil {
		heap += s.model.EmbedderBytes(run.EmbedBatchOf(s.model))
	}
	return p.Program + heap + gcPercent*heap/100
}

// widest is the number of columns of the widest rows that are measured.
func (s *planner) widest() int64 {
	widest := int64(s.model.Spec.Dim)
	if !s.opt.ModelOnly {
		side := int64(min(s.model.Spec.Input.Size, run.RawSide))
		widest = max(widest, 3*side*side, int64(s.model.Width()))
	}
	return widest
}

// endFixed is what 400,000 pairs with their curves take, and a picture.
const endFixed = 32 << 20

// DevicePlan is what a run takes of a device's own memory, in bytes.
type DevicePlan struct {
	Weights     int64 `json:"weights"` // and running statistics
	Optimizer   int64 `json:"optimizer"`
	Activations int64 `json:"activations"` // with all gradients, as planned
	Workspace   int64 `json:"workspace"`   // of the engine
	Batches     int64 `json:"batches"`     // two, as bytes
	Validation  int64 `json:"validation"`
	// End is what all takes in the final measurement.
	End int64 `json:"end"`
}

// Total is the most that is taken at any time.
func (p DevicePlan) Total() int64 { return max(p.Training(), p.End) }

// Training adds up what training takes.
func (p DevicePlan) Training() int64 {
	return p.Weights + p.Optimizer + p.Activations + p.Workspace + p.Batches + p.Validation
}

func (p DevicePlan) String() string {
	return fmt.Sprintf("%d MiB: weights %d, optimizer %d, activations and gradients %d, workspace %d, batches %d, validation %d; the final measurement %d",
		p.Total()>>20, p.Weights>>20, p.Optimizer>>20, p.Activations>>20, p.Workspace>>20, p.Batches>>20, p.Validation>>20, p.End>>20)
}

// device is the engine if it has memory of its own, else nil.
func (s *planner) device() engine.Device {
	d, _ := s.model.Params.Engine().(engine.Device)
	return d
}

// deviceRoom is what the engine may take of its device's memory in all.
func (s *planner) deviceRoom() (int64, error) {
	d := s.device()
	free, _, err := d.Memory()
	if err != nil {
		return 0, fmt.Errorf("the memory of %s: %w", s.model.Params.Engine().Name(), err)
	}
	return free + d.Held(), nil
}

// deviceEnd is endBytes of a device: three networks, the test images as rows, and
// blocks of distances.
func (s *planner) deviceEnd(p DevicePlan) int64 {
	n := int64(len(s.sets.Test.Items))
	return 3*p.Weights + p.Workspace + 4*n*s.widest() + min(eval.DefaultMemory, 8*1024*n) + s.model.EmbedderBytes(run.EmbedBatchOf(s.model))
}
