// Package table reads the tables that people and programs write as text, and says
// what a cell is.
//
// Text turns the bytes of a file into text, whatever their encoding. Read divides
// the text into cells: it finds the separator, passes over comments, knows the
// first line "sep=;" of spreadsheets, the row names of R and the head of an ARFF
// file, and drops what a spreadsheet leaves behind: empty columns at the end of the
// lines and empty lines at the end of the file. KindOf says what a cell holds, and
// Number reads it.
//
// All lists and tables of Vernier's users go through here: those of data sets, of
// super-classes, of pairs, and the tables of package linear.
package table
