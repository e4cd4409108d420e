"""Methods and settings that several experiments share, each as a function that declares them."""
