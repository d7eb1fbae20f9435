/** Whether what is generated is what its sources give now. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { generatedFiles } from "../../../contracts/generated-files.ts";
import { configJsonSchema, schemaFileName } from "../../../lambdas/shared/config/json-schema.ts";
import { readTexts } from "./contract/read-contract.ts";

export function generatedProblems(directory: string): string[] {
  const wanted = new Map([...generatedFiles()].map(([path, text]) => [`contracts/generated/${path}`, text]));
  wanted.set(schemaFileName, configJsonSchema());
  const stale = [...wanted].filter(([path, text]) => textOf(join(directory, path)) !== text).map(([path]) => path);
  const present = [...readTexts(join(directory, "contracts/generated")).keys()];
  const surplus = present.map((path) => `contracts/generated/${path}`).filter((path) => !wanted.has(path));
  return [...stale, ...surplus].map((path) => `${path} is stale: run npm run contracts.`);
}

function textOf(file: string): string | undefined {
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
