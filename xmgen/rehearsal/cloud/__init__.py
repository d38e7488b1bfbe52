"""What Google Cloud would answer: resources kept in a file, refusals in Google's words, nodes for node pools."""
