package kernels

import (
	"encoding/binary"
	"math"
)

// Task is a small operation, one of many in a launch.
type Task struct {
	kind         int32
	out          [3]Ptr
	in           [6]Ptr
	stored       [3]Type // of out[0], in[0] and in[1]
	width, parts int
	by           float32
	count, step  int // elements, rows or channels, and how many of them a block does at most
}

// The kinds, as the device has them.
const (
	taskCopy int32 = iota
	taskScaleRows
	taskRowDots
	taskCombine
	taskFoldNorm
	taskFoldNormGrad
)

// taskStep is how many elements a block does.
const taskStep = 4096

// CopyTask stores n numbers x of type from as y of type to.
func CopyTask(to, from Type, n int, y, x Ptr) Task {
	return Task{kind: taskCopy, out: [3]Ptr{y}, in: [6]Ptr{x}, stored: [3]Type{to, from}, count: n, step: taskStep}
}

// ScaleRowsTask is ScaleRows, of x of type from to y of type to.
func ScaleRowsTask(to, from Type, rows, width int, y, x, s Ptr) Task {
	return Task{kind: taskScaleRows, out: [3]Ptr{y}, in: [6]Ptr{x, s}, stored: [3]Type{to, from}, width: width, count: rows * width, step: taskStep}
}

// RowDotsTask is RowDots, of x and y of types ofX and ofY.
func RowDotsTask(ofX, ofY Type, rows, width int, d, x, y Ptr) Task {
	return Task{kind: taskRowDots, out: [3]Ptr{d}, in: [6]Ptr{x, y}, stored: [3]Type{F32, ofX, ofY}, width: width, count: rows, step: max(2, taskStep/width)}
}

// CombineTask is Combine.
func CombineTask(parts, c int, out, part Ptr, by float32) Task {
	return Task{kind: taskCombine, out: [3]Ptr{out}, in: [6]Ptr{part}, width: c, parts: parts, by: by, count: c, step: 32}
}

// FoldNormTask is FoldNorm.
func FoldNormTask(c int, scale, shift, bias, gamma, beta, mean, variance Ptr, eps float32) Task {
	return Task{kind: taskFoldNorm, out: [3]Ptr{scale, shift}, in: [6]Ptr{bias, gamma, beta, mean, variance}, by: eps, count: c, step: taskStep}
}

// FoldNormGradTask is FoldNormGrad.
func FoldNormGradTask(c int, dbias, dgamma, dbeta, dscale, dshift, bias, gamma, mean, variance Ptr, eps float32) Task {
	return Task{kind: taskFoldNormGrad, out: [3]Ptr{dbias, dgamma, dbeta}, in: [6]Ptr{dscale, dshift, bias, gamma, mean, variance}, by: eps, count: c, step: taskStep}
}

// append adds the task as the device's struct task.
func (t Task) append(b []byte) []byte {
	types := int32(0)
	for i, of := range t.stored {
		if of == BF16 {
			types |= 1 << i
		}
	}
	for _, v := range []uint32{uint32(t.kind), uint32(types), uint32(int32(t.width)), uint32(int32(t.parts)), math.Float32bits(t.by), 0} {
		b = binary.NativeEndian.AppendUint32(b, v)
	}
	for _, p := range append(t.out[:], t.in[:]...) {
		b = binary.NativeEndian.AppendUint64(b, uint64(p))
	}
	return b
}

// TaskTable is what launches of tasks read: Host goes to the device as it is.
type TaskTable struct {
	Host   []byte
	pieces int   // where they begin in Host
	levels []int // pieces of each launch
}

// NewTaskTable arranges tasks for as few launches as it takes, each of tasks that
// neither read nor write what another one of them writes. The outcome is that of one
// task after the other. Arrays are told apart by where they begin.
func NewTaskTable(tasks []Task) TaskTable {
	var t TaskTable
	levels := taskLevels(tasks)
	for _, task := range tasks {
		t.Host = task.append(t.Host)
	}
	t.pieces = len(t.Host)
	for level, done := 0, 0; done < len(tasks); level++ {
		count := 0
		for i, task := range tasks {
			if levels[i] != level {
				continue
			}
			done++
			for from := 0; from < task.count; from += task.step {
				t.Host = binary.NativeEndian.AppendUint32(t.Host, uint32(i))
				t.Host = binary.NativeEndian.AppendUint32(t.Host, uint32(min(task.step, task.count-from)))
				t.Host = binary.NativeEndian.AppendUint64(t.Host, uint64(from))
				count++
			}
		}
		t.levels = append(t.levels, count)
	}
	return t
}

// taskLevels returns the number of the launch of each task.
func taskLevels(tasks []Task) []int {
	levels := make([]int, len(tasks))
	written, touched := map[Ptr]int{}, map[Ptr]int{} // the first launch after the one that wrote, or read or wrote, an array
	for i, task := range tasks {
		for _, p := range task.in {
			levels[i] = max(levels[i], written[p])
		}
		for _, p := range task.out {
			levels[i] = max(levels[i], touched[p])
		}
		after := levels[i] + 1
		for _, p := range append(task.in[:], task.out[:]...) {
			if p != 0 {
				touched[p] = max(touched[p], after)
			}
		}
		for _, p := range task.out {
			if p != 0 {
				written[p] = after
			}
		}
	}
	return levels
}

// Launches are those of the tasks of a table, in order, when Host has been copied to
// table.
func (t TaskTable) Launches(table Ptr) []Launch {
	const pieceSize = 16
	at := table + Ptr(t.pieces)
	var list []Launch
	for _, n := range t.levels {
		list = append(list, launch("tasks", perRow(n), table, at))
		at += Ptr(n * pieceSize)
	}
	return list
}
