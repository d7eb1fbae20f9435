/** The name under which the package is installed. Every hint and every import in the documents uses it. */
export const packageName = "@sekisho/sekisho";
