// Package tune looks for good settings, and compares variants that had equal budgets for
// it.
//
// A file says what may vary (Parse). Each variant has a study of its own: trials whose
// settings package tpe proposes and whose value is measured on folds of the training
// classes. At the end the best settings of each variant are trained with several seeds and
// measured on the test classes, which nothing has looked at before.
//
// A study lies in a folder, a trial in a folder of it. What a trial tries is a function of
// the file and of the trials before it, so that a study that was killed and continued, or
// that several processes work on, is the same study. (Musgrave, Belongie and Lim 2020, A
// metric learning reality check, on why equal budgets matter.)
package tune
