// Package serve is a small web page on which one drops an image, sees the
// nearest images of a gallery, and marks them right or wrong. For a model of rows of
// numbers, one drops a .npy file of a row or pastes its numbers. A row of the gallery is
// searched for by its number or path.
//
// It is made for one person at the machine that it runs on. It answers only
// requests whose Host is that machine itself, so that no page elsewhere reaches
// it through a name of its own (DNS rebinding), and none that another page
// sends (CSRF). Images of the gallery are asked for by the number of their row,
// never by a path. What is sent to it is decoded as an image or an array,
// within limits of size, and nothing else is done with it; it is not kept.
package serve
