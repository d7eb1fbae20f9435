/** Which packages of the lock file a bundle holds, by what esbuild says that it is made of. */

/** What of esbuild's metafile counts here. */
export type BundleContents = {
  outputs: Readonly<Record<string, { inputs: Readonly<Record<string, { bytesInOutput: number }>> }>>;
};

/** Paths as in the lock file, such as `node_modules/a/node_modules/b`. A file of which nothing is left does not count. */
export function bundledPackages({ outputs }: BundleContents): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const left = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return [...new Set(left.flatMap(([file]) => packageOf(file)))].sort();
}

/** The last package on the way to the file, with those in which it lies. */
function packageOf(file: string): string[] {
  const [path] = /node_modules\/(?:@[^/]+\/)?[^/]+(?:\/node_modules\/(?:@[^/]+\/)?[^/]+)*/.exec(file) ?? [];
  return path === undefined ? [] : [path];
}
