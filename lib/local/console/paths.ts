/** The addresses of the page. */

export const base = "/operate/";
export const signInPath = `${base}sign-in`;
export const apiPath = `${base}api/`;
/** Those that a person opens; all others are asked for by the page. */
export const documentPaths: readonly string[] = ["/", "/operate", base, signInPath];
