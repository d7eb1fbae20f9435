/** Bills of materials in CycloneDX, written by `npm sbom`: of all packages that the repository needs to run, and of each bundle. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { type Bundle, bundle } from "../../cdk/bundle/bundle.ts";
import type { BundleName } from "../../cdk/bundle/entry.ts";
import { bundledPackages } from "../../cdk/bundle/notices.ts";

const componentSchema = z.looseObject({
  "bom-ref": z.string(),
  name: z.string(),
  version: z.string(),
  licenses: z
    .array(
      z.object({
        license: z.object({ id: z.string() }).optional(),
        expression: z.string().optional(),
      }),
    )
    .optional(),
  properties: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
});
const billSchema = z.looseObject({
  bomFormat: z.literal("CycloneDX"),
  metadata: z.object({
    tools: z.tuple([z.looseObject({ version: z.string() })]).optional(),
    component: z.looseObject({}),
  }),
  components: z.array(componentSchema),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()) })),
});
export type Bill = z.infer<typeof billSchema>;

const lockSchema = z.object({
  name: z.string(),
  version: z.string(),
  packages: z.record(z.string(), z.looseObject({ version: z.string().optional() })),
});

/** Everything in the lock file: its version, the version of each path, and npm's own bill with the development tools. */
export type Installed = z.infer<typeof lockSchema> & { bill: Bill };

/** Reads the lock file alone, so the bill does not depend on what is installed. */
export function readInstalled(directory: string): Installed {
  const args = [
    "sbom",
    "--sbom-format=cyclonedx",
    "--sbom-type=application",
    "--package-lock-only",
  ];
  const json = execFileSync("npm", [...args, "--no-update-notifier"], {
    cwd: directory,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    timeout: 60_000,
    stdio: ["ignore", "pipe", "pipe"],
    // npm is a batch file there.
    shell: process.platform === "win32",
  });
  const lock = lockSchema.parse(
    JSON.parse(readFileSync(join(directory, "package-lock.json"), "utf8")),
  );
  return { ...lock, bill: billSchema.parse(JSON.parse(json)) };
}

/** The packages that a bill lists: those whose references `holds` accepts. */
export type Contents = { name: string; holds: (component: Bill["components"][number]) => boolean };

/** All packages but the development tools. */
export function projectContents({ name }: Installed): Contents {
  const isDevelopment = (component: Bill["components"][number]) =>
    component.properties.some((property) => property.name === "cdx:npm:package:development");
  return { name, holds: (component) => !isDevelopment(component) };
}

type Source = { installed: Installed; name: BundleName; config: Config; configDirectory: string };

/** Builds the bundle. `config` decides which agent is in it. */
export function bundleContents({
  installed,
  name,
  config,
  configDirectory,
}: Source): Contents & { bundle: Bundle } {
  const made = bundle({ name, config, configDirectory });
  const references = bundledPackages(made.metafile).map((path) => {
    const { version } = installed.packages[path] ?? {};
    if (version === undefined)
      throw new Error(`The bundle ${name} holds ${path}, which is not in package-lock.json.`);
    return `${path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)}@${version}`;
  });
  const holds = (component: Bill["components"][number]) =>
    references.includes(component["bom-ref"]);
  return { name: `${installed.name}-${toKebabCase(name)}`, holds, bundle: made };
}

type BillSource = { installed: Installed; contents: Contents; at: string | undefined };

/**
 * The text of a bill. npm's random serial number and its time are left out, because the same commit must give the same bytes: `at` is the
 * time, as RFC 3339 writes it. Throws where a package has no license, or one that is not on the list.
 */
export function formatBill({ installed, contents: { name, holds }, at }: BillSource): string {
  const {
    serialNumber: _random,
    metadata,
    components: all,
    dependencies,
    ...head
  } = installed.bill;
  const components = all.filter(holds);
  const problems = licenseProblems(components);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const references = new Set([
    String(metadata.component["bom-ref"]),
    ...components.map((one) => one["bom-ref"]),
  ]);
  const bill = {
    ...head,
    metadata: {
      ...(at !== undefined && { timestamp: at }),
      component: { ...metadata.component, name },
    },
    components,
    dependencies: dependencies
      .filter(({ ref }) => references.has(ref))
      .map(({ ref, dependsOn }) => ({
        ref,
        dependsOn: dependsOn.filter((other) => references.has(other)),
      })),
  };
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** By their SPDX names; `docs/reference/dependencies.md` lists the same. All allow use, change and distribution, also within closed software. */
export const allowedLicenses: readonly string[] = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
];

/** An expression such as `MIT OR GPL-3.0-only` is not on the list: a person reads it, and adds it where one side of it is. */
export function licenseProblems(components: Bill["components"]): string[] {
  return components.flatMap(({ name, version, licenses = [] }) => {
    const named = licenses.map(({ license, expression }) => license?.id ?? expression ?? "");
    if (named.length > 0 && named.every((one) => allowedLicenses.includes(one))) return [];
    const what = named.length === 0 ? "has no license" : `is under ${named.join(", ")}`;
    return [
      `${name}@${version} ${what}: lib/cli/release/bills.ts and docs/reference/dependencies.md list the allowed licenses.`,
    ];
  });
}

/** Bundles are named like variables, files in kebab-case. */
export function toKebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
