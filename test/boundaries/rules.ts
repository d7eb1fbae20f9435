/** The boundaries as data: which files a rule is about, and what they may not import or say. */
import { type Source, withAllTheyLoad } from "./source.ts";

export type Rule = {
  name: string;
  about: RegExp;
  except?: RegExp;
  /** Of what is loaded at run time, everything else is forbidden. */
  mayLoad?: RegExp;
  /** Forbidden even as a type. */
  mustNotImport?: RegExp;
  /** About the code without comments and types. */
  mustNotSay?: RegExp;
  /** About the text of import statements. */
  mustNotImportAs?: RegExp;
  maxLines?: number;
};

const anywhere = /^(bin|contracts|lambdas|lib)\//;
const configuration = /(^|\/)config\/|config[^/]*\.ts$/;

/** Named pure: by their folder, or by the word in the sentence atop the file. */
function isPure({ path, text }: Source): boolean {
  return /^lambdas\/verification\/(task|gate)\//.test(path) || /\bpure\b/i.test(text.split("\n", 1)[0] ?? "");
}

export const rules: readonly Rule[] = [
  {
    name: "contracts import zod and each other, nothing else",
    about: /^contracts\//,
    except: /^contracts\/generate\.ts$/,
    mustNotImport: /^(?!zod$|contracts\/)/,
    mustNotSay: /\b(process|Buffer|require)\b/,
  },
  {
    name: "the Verification zone does not know the Execution zone",
    about: /^lambdas\/verification\//,
    mustNotImport: /^(lambdas\/execution|bin|lib|test)\//,
  },
  {
    name: "the Execution zone does not know the Verification zone",
    about: /^lambdas\/execution\//,
    mustNotImport: /^(lambdas\/verification|bin|lib|test)\//,
  },
  {
    name: "what both zones share knows neither",
    about: /^lambdas\/shared\//,
    mustNotImport: /^(lambdas\/(verification|execution)|bin|lib|test)\//,
  },
  {
    name: "the stacks know the configuration, the table's layout and the names of metrics, and of a zone only the paths that they bundle",
    about: /^lib\//,
    mustNotImport:
      /^(lambdas\/(?!shared\/(config\/|engine\/aws\/table\.ts$|telemetry\/metric-table[a-z-]*\.ts$))|bin\/|test\/)/,
  },
  {
    name: "the environment is read in configuration files only",
    about: anywhere,
    except: configuration,
    mustNotImport: /^(node:)?process$/,
    mustNotSay: /\bprocess\s*(\?\.|\.)\s*env\b|\bprocess\s*\[|\}\s*=\s*process\b/,
  },
  {
    name: "zod is imported whole, since its named import drags every locale into a bundle",
    about: anywhere,
    mustNotImportAs: /^(?!import (type )?\* as z from "zod(\/mini)?")[\s\S]*["']zod["'/]/,
  },
  { name: "nothing is exported as default", about: anywhere, mustNotSay: /\bexport default\b|\bas default\b/ },
  { name: "no file hands on the exports of another", about: anywhere, mustNotImportAs: /^export\b/ },
  {
    name: "a test draws no seed: new ones belong to the daily campaign",
    about: /^test\/(?!boundaries\.).*\.test\.ts$/,
    mustNotImport: /fast-check\//,
    mustNotSay: /\bMath\.random\b|\brandomInt\b/,
  },
  {
    name: "what the simulation runs does not depend on the day",
    about: /^test\/faults\/.*\.test\.ts$/,
    mustNotSay: /\bDate\b/,
  },
  { name: "no file is longer than 300 lines", about: anywhere, maxLines: 300 },
];

/** Holds for the files named pure and for all that they load, so it is asked of a set of files. */
export const pureRule: Rule = {
  name: "what is named pure has no SDK, no clock, no timer, no random source, no environment",
  about: anywhere,
  mayLoad: /^(zod(\/mini)?|node:crypto|marked)$|^(contracts|lambdas)\//,
  mustNotSay:
    /\b(Date\.now|performance|Math\.random|random(UUID|Bytes|Int|Fill)|getRandomValues|set(Timeout|Interval|Immediate)|fetch|process)\b|\bnew Date\b(?!\([^)])|\bDate\(\)/,
};

/** One line per violation: path, rule, and what was found. */
export function violations(sources: readonly Source[]): readonly string[] {
  const pure = withAllTheyLoad(sources, isPure);
  return sources.flatMap((source) => {
    const asked = pure.has(source.path) ? [...rules, pureRule] : rules;
    return asked.flatMap((rule) => breaches(rule, source).map((found) => `${source.path}: ${rule.name}: ${found}`));
  });
}

function breaches(rule: Rule, { path, text, code, imports }: Source): readonly string[] {
  if (!rule.about.test(path) || rule.except?.test(path)) return [];
  const { mayLoad, mustNotImport, mustNotImportAs, mustNotSay, maxLines } = rule;
  const lines = text.trimEnd().split("\n").length;
  return [
    ...imports.filter((one) => mayLoad && !one.typeOnly && !mayLoad.test(one.target)).map((one) => one.target),
    ...imports.filter((one) => mustNotImport?.test(one.target)).map((one) => one.target),
    ...imports.filter((one) => mustNotImportAs?.test(one.statement)).map((one) => one.statement),
    ...(mustNotSay?.exec(code)?.slice(0, 1) ?? []),
    ...(maxLines !== undefined && lines > maxLines ? [`${lines} lines`] : []),
  ];
}
