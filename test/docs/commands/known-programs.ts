/** Programs that no test runs, and what of them the documents use: a misspelt option is found, a new one is looked up and added. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { root } from "./documented.ts";
import type { ShellCommand } from "./shell-line.ts";

/** By program and subcommand: its options, as the vendor's reference lists them. */
const known: Record<string, string[]> = {
  "gcloud secrets create": ["--data-file"],
  "gcloud secrets add-iam-policy-binding": ["--role", "--member"],
  "gcloud run deploy": [
    "--source",
    "--image",
    "--region",
    "--allow-unauthenticated",
    "--set-secrets",
    "--no-cpu-throttling",
    "--min-instances",
    "--max-instances",
  ],
  "gcloud artifacts repositories create": ["--repository-format", "--location"],
  "gcloud auth configure-docker": [],
  "docker build": ["--platform", "-t", "--build-arg"],
  "docker buildx build": ["--platform", "-t", "--build-arg", "--output", "--sbom", "--provenance"],
  "docker run": ["--read-only", "--rm", "-e", "-p", "-v"],
  "docker push": [],
  "aws lambda get-function-recursion-config": ["--function-name"],
  "aws lambda put-function-recursion-config": ["--function-name", "--recursive-loop"],
  "aws logs filter-log-events": ["--log-group-name", "--filter-pattern", "--query", "--output"],
  "aws s3 rm": ["--recursive"],
  "aws secretsmanager delete-secret": ["--secret-id"],
  "aws sso login": [],
  "openssl rand": ["-hex"],
  tr: ["-d"],
  sha256sum: ["-c"],
  "git checkout": [],
  "git tag": ["-v"],
  ssh: ["-L"],
  curl: ["-N"],
  cmp: [],
};

/** Throws where the program, its subcommand or an option is not known, or a file of this project is named that there is not. */
export function lookAtProgram({ words }: ShellCommand): void {
  const name = Object.keys(known).find((prefix) => words.slice(0, prefix.split(" ").length).join(" ") === prefix);
  expect({ words, known: name !== undefined }).toEqual({ words, known: true });
  const rest = words.slice(name?.split(" ").length);
  const options = rest.flatMap((word) => (/^--?[A-Za-z]/.test(word) ? [word.replace(/=.*/, "")] : []));
  expect(options.filter((option) => !known[name ?? ""]?.includes(option))).toEqual([]);
  const files = rest.flatMap((word) => /^(?:\w+=)?(examples\/.+)$/.exec(word)?.[1] ?? []);
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
}
