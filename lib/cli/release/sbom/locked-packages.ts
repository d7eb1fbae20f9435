/** The packages of package-lock.json, and which of them asks for which. */
import * as z from "zod";

const entrySchema = z.object({
  version: z.string(),
  license: z.string().optional(),
  integrity: z.string().optional(),
  dev: z.boolean().optional(),
  optional: z.boolean().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
  peerDependencies: z.record(z.string(), z.string()).optional(),
});
/** To a folder of the repository itself, which is no package that somebody published. */
const linkSchema = z.object({ link: z.literal(true) });
const lockSchema = z.object({
  name: z.string(),
  version: z.string(),
  lockfileVersion: z.literal(3),
  packages: z.record(z.string(), z.union([entrySchema, linkSchema])),
});

export type LockedPackage = {
  name: string;
  version: string;
  /** An SPDX expression, as the package says it. */
  license: string | undefined;
  /** As npm writes it: the algorithm, a hyphen, and the hash in base64. */
  integrity: string | undefined;
  /** Not installed everywhere: for some platforms only. */
  isOptional: boolean;
  /** A tool of the development. A bundle may hold one all the same, where another package uses it if it is there. */
  isDev: boolean;
  /** Paths of the packages that it loads. */
  needs: readonly string[];
};

export type Lock = {
  name: string;
  version: string;
  /** Paths of what the project itself asks for. */
  needs: readonly string[];
  /** By path, such as `node_modules/a/node_modules/b`. */
  packages: ReadonlyMap<string, LockedPackage>;
};

/** Throws for a file that is no lock of npm 7 or newer. */
export function readLock(json: unknown): Lock {
  const { name, version, packages: all } = lockSchema.parse(json);
  const packages: Record<string, z.infer<typeof entrySchema>> = {};
  for (const [path, entry] of Object.entries(all)) {
    const isOfRepository = "link" in entry || (path !== "" && !path.includes("node_modules/"));
    if (!isOfRepository) packages[path] = entry;
  }
  const paths = Object.keys(packages);
  const needsOf = (path: string) => {
    const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
    const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    return names.flatMap((needed) => resolve({ needed, from: path, paths }));
  };
  const installed = Object.entries(packages).filter(([path]) => path !== "");
  const entries = installed.map(([path, entry]): [string, LockedPackage] => [
    path,
    {
      name: nameOf(path),
      version: entry.version,
      license: entry.license,
      integrity: entry.integrity,
      isOptional: entry.optional ?? false,
      isDev: entry.dev ?? false,
      needs: needsOf(path),
    },
  ]);
  return { name, version, needs: needsOf(""), packages: new Map(entries) };
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** As Node looks for it: in the package's own node_modules, then in each one above. What is not installed is not there. */
function resolve({ needed, from, paths }: { needed: string; from: string; paths: readonly string[] }): string[] {
  const above = from === "" ? [] : from.split("/node_modules/").map((_, index, parts) => parts.slice(0, index + 1));
  const places = [...above.map((parts) => `${parts.join("/node_modules/")}/`).reverse(), ""];
  return places
    .map((place) => `${place}node_modules/${needed}`)
    .filter((path) => paths.includes(path))
    .slice(0, 1);
}
