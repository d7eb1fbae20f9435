import { join } from "node:path";

/** The folder of the clone, or of an installed package, whose files lie in the same folders. */
export const projectDirectory = join(import.meta.dirname, "../..");
