"""The three Python clients behind one face, so that a claim is written once for all of them."""
