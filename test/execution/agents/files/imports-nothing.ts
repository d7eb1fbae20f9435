/** An agent file that imports what is not there. */
// @ts-expect-error: that is its fault.
import "./not-there.ts";

export async function* agent() {}
