/**
 * How every hint begins that names a command. `--no-install` runs what is installed in the folder, and never fetches a
 * package of that name which somebody else published.
 */
export const sekisho = "npx --no-install sekisho";
