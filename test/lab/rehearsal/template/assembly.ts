/** Reads what `cdk synth` wrote: the templates of the stacks, their accounts, and the folders of the assets. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const resourceSchema = z.looseObject({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
});
const templateSchema = z.object({
  Parameters: z.record(z.string(), z.looseObject({ Default: z.unknown() })).default({}),
  Resources: z.record(z.string(), resourceSchema),
  Outputs: z.record(z.string(), z.looseObject({ Value: z.unknown() })).default({}),
});
const manifestSchema = z.object({
  artifacts: z.record(
    z.string(),
    z.looseObject({
      type: z.string(),
      environment: z.string().optional(),
      properties: z
        .looseObject({ templateFile: z.string().optional(), stackName: z.string().optional() })
        .default({}),
      dependencies: z.array(z.string()).default([]),
    }),
  ),
});
const assetsSchema = z.object({
  files: z.record(
    z.string(),
    z.object({
      source: z.looseObject({ path: z.string() }),
      destinations: z.record(z.string(), z.looseObject({ objectKey: z.string() })),
    }),
  ),
});

export type Template = z.infer<typeof templateSchema>;
export type Stack = { name: string; account: string; region: string; template: Template };
export type Assembly = {
  stacks: Stack[];
  /** Returns the folder of an asset by its key in the assets' bucket. Throws if the assembly has none, or if the code could not read it. */
  assetFolder(objectKey: string): string;
};

export function readAssembly(folder: string): Assembly {
  const { artifacts } = manifestSchema.parse(readJson(folder, "manifest.json"));
  const stacks = Object.entries(artifacts).flatMap(
    ([id, { type, environment = "", properties }]): Stack[] => {
      if (type !== "aws:cloudformation:stack" || properties.templateFile === undefined) return [];
      const [, account, region] = /^aws:\/\/(\d{12})\/([a-z0-9-]+)$/.exec(environment) ?? [];
      if (account === undefined || region === undefined)
        throw new Error(`${id} does not say into which account it goes.`);
      const template = templateSchema.parse(readJson(folder, properties.templateFile));
      return [{ name: properties.stackName ?? id, account, region, template }];
    },
  );
  const folders = new Map<string, { folder: string; unreadable: string | undefined }>();
  for (const [id, { type }] of Object.entries(artifacts)) {
    if (type !== "cdk:asset-manifest") continue;
    const { files } = assetsSchema.parse(readJson(folder, `${id}.json`));
    for (const { source, destinations } of Object.values(files)) {
      const path = join(folder, source.path);
      const asset = { folder: path, unreadable: findUnreadable(path) };
      for (const { objectKey } of Object.values(destinations)) folders.set(objectKey, asset);
    }
  }
  return {
    stacks,
    assetFolder(objectKey) {
      const found = folders.get(objectKey);
      if (found === undefined) throw new Error(`cdk.out has no asset ${objectKey}.`);
      if (found.unreadable !== undefined)
        throw new Error(`EACCES: permission denied, open '${found.unreadable}'`);
      return found.folder;
    },
  };
}

/** Finds a file that only its owner can read. The zip of an asset keeps the modes of its files, and the code runs as another user. */
function findUnreadable(path: string): string | undefined {
  if (!statSync(path).isDirectory()) return undefined;
  return readdirSync(path).find((name) => (statSync(join(path, name)).mode & 0o044) !== 0o044);
}

function readJson(folder: string, file: string): unknown {
  return JSON.parse(readFileSync(join(folder, file), "utf8"));
}
