// Package train is the loop: it draws batches, runs the graph forward and
// back, moves the parameters, watches for numbers that go wrong, measures on
// validation classes after each epoch, and keeps checkpoints from which a run
// continues exactly where it stopped.
//
// Begin with Open, which begins a run, or continues it where the folder holds it already.
// run.Default has settings that work for a set; the fields of run.Config are what
// vernier train --print-config shows:
//
//	eng, err := cpu.New(cpu.Options{})
//	cfg := run.Default("folder:birds")
//	session, err := train.Open(ctx, cfg, "runs/birds", eng, train.Options{})
//	err = session.Train(ctx)              // validation and checkpoints on the way
//	results, err := session.Finish(ctx)   // of the best epoch on classes not seen
//
// The parts of a run have names in its settings, and a program has parts of its own by
// the same names once it has registered them, before it begins or resumes the run:
//
//	losses.Register                a loss, with a miner of the program's own in it
//	data.Register                  a data set: labels, and a function that loads an image
//	data.RegisterSampler           which images form a batch
//	transform.Register             how images vary (package data/transform)
//	backbone.Register              a network, with operations of the program's own
//	                               (layers.Graph.HostOp)
//
// The programs customloss, customdata and custombackbone in the folder examples are
// whole ones.
package train
