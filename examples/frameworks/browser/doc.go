// Package browser tests the page of a report in a browser, headless. It is a module of its own, so that
// nobody else compiles the browser's driver. Where no browser is installed, its tests are skipped.
package browser
