"""What became of every message that was accepted, and what producers sent that never came."""
