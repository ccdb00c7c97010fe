// Package train is the loop: it draws batches, runs the graph forward and
// back, moves the parameters, watches for numbers that go wrong, measures on
// validation classes after each epoch, and keeps checkpoints from which a run
// goes on exactly where it stopped.
package train
