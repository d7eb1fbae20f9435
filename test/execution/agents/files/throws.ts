/** An agent file whose own code throws. */
throw new Error("the model is not configured");
