/** An agent file with a slip: the export has another name. */
export const agents = [];
