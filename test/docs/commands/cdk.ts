/** Commands of CDK. The synth is run. The others change an account, so their options are compared with the help of the pinned CDK. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { hangMs } from "../../tooling/hang.ts";
import { root } from "./documented.ts";
import { type LookEntry, onlyPart } from "./entry.ts";
import type { ShellCommand } from "./shell-line.ts";

const inAnAccount = "it changes an account of AWS, with somebody's credentials";
const example = "examples/two-accounts.config.json";

function cdk(args: string[]) {
  const { PATH = "", HOME = "" } = process.env;
  const given = {
    cwd: root,
    env: { PATH, HOME, CI: "true" },
    encoding: "utf8",
    timeout: hangMs,
  } as const;
  return spawnSync(process.execPath, [join(root, "node_modules/aws-cdk/bin/cdk"), ...args], given);
}

const helps = new Map<string, string>();

function helpOf(command: string): string {
  const help = helps.get(command) ?? cdk([command, "--help"]).stdout;
  helps.set(command, help);
  return help;
}

export function lookAtOptions(parts: ShellCommand[]): void {
  const [npx, name, command = "", ...rest] = onlyPart(parts).args;
  expect([npx, name]).toEqual(["npx", "cdk"]);
  const options = rest.filter((word) => /^--?[a-z]/.test(word));
  const help = command === "…" ? "-c" : helpOf(command);
  expect(options.filter((option) => !new RegExp(`(?<![\\w-])${option}\\b`).test(help))).toEqual([]);
  lookAtContext(rest);
  const places = placesOfPage();
  const named = rest.filter((word) => word.startsWith("aws://"));
  expect(named.filter((place) => !places.includes(place))).toEqual([]);
}

/** The accounts and regions of the configuration that docs/how-to/deploy.md shows. */
function placesOfPage(): string[] {
  const page = readFileSync(join(root, "docs/how-to/deploy.md"), "utf8");
  const places = page.matchAll(/"account": "(\d+)", "region": "([\w-]+)"/g);
  return [...places].map(([, account, region]) => `aws://${account}/${region}`);
}

/** Checks that the app reads what `-c` sets. */
function lookAtContext(args: string[]): void {
  const keys = args.flatMap((word, at) => (args[at - 1] === "-c" ? [word.replace(/=.*/, "")] : []));
  const app = readFileSync(join(root, "bin/app.ts"), "utf8");
  expect(keys.filter((key) => !app.includes(`context.${key}`))).toEqual([]);
}

const changing = [
  "npx cdk bootstrap aws://111111111111/eu-central-1",
  "npx cdk bootstrap aws://222222222222/eu-central-1 --trust 111111111111 --cloudformation-execution-policies arn:aws:iam::aws:policy/AdministratorAccess",
  "npx cdk deploy --all",
  "npx cdk deploy --all -c stage=dev",
  "npx cdk deploy Verification --exclusively -c stage=dev",
  "npx cdk deploy --all --require-approval never -c stage=prod",
  "npx cdk diff -c stage=dev",
  "npx cdk diff -c stage=prod",
  "npx cdk destroy Verification Execution Identity -c stage=dev",
];

export const cdkCommands: LookEntry[] = [
  ...changing.map((command) => ({ command, because: inAnAccount, look: lookAtOptions })),
  {
    command: "npx cdk synth --quiet",
    because: "it is run, with the whole example in place of the reader's configuration",
    look(parts) {
      const out = mkdtempSync(join(tmpdir(), "sekisho-documented-synth-"));
      try {
        const args = onlyPart(parts).args.slice(2);
        const { status, stderr } = cdk([...args, "-c", `config=${example}`, "-o", out]);
        expect({ status, stderr }).toMatchObject({ status: 0 });
        for (const zone of ["Identity", "Execution", "Verification"])
          expect(existsSync(join(out, `${zone}.template.json`))).toBe(true);
      } finally {
        rmSync(out, { recursive: true, force: true });
      }
    },
  },
];
