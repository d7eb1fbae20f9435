/** The boundaries as data: which files a rule is about, and what they may not import or say. */
import { taskSchema } from "@sekisho/verification/task/task.ts";
import { findCircles } from "./circles.ts";
import { listLayerBreaches, listPackageBreaches } from "./packages.ts";
import { pureFiles, pureFolders } from "./pure-files.ts";
import { type Source, withAllTheyLoad } from "./source.ts";

export type Rule = {
  name: string;
  about: RegExp;
  except?: RegExp | ReadonlySet<string>;
  /** The only modules that may be loaded at run time. */
  mayLoad?: RegExp;
  /** Forbidden even as a type. */
  mustNotImport?: RegExp;
  /** About the code without comments and types. */
  mustNotSay?: RegExp;
  /** About the text of import statements. */
  mustNotImportAs?: RegExp;
};

const anywhere = /^(bin|contracts|lambdas|lib)\//;

/** The files that may read the environment. */
export const environmentFiles: ReadonlySet<string> = new Set([
  "bin/pinned-node.mjs",
  "lambdas/execution/config/aws-environment.ts",
  "lambdas/execution/config/container-environment.ts",
  "lambdas/runtime/aws/environment.ts",
  "lambdas/config/environment.ts",
  "lambdas/config/proxy-environment.ts",
  "lambdas/config/secrets.ts",
  "lambdas/verification/config/ingress-environment.ts",
  "lambdas/verification/config/oauth-environment.ts",
  "lambdas/verification/config/worker-environment.ts",
  "lib/conformance/environment.ts",
  "lib/cli/dot-env.ts",
  "lib/local/watch/supervise.ts",
]);

/** The files that load an agent of the user, or a bundler that need not be installed. */
export const loaderFiles: ReadonlySet<string> = new Set([
  "lambdas/execution/agents/create-agent.ts",
  "lambdas/execution/agents/load-agent.ts",
  "lib/cdk/bundle/bundle.ts",
  "lib/local/author/describe-load.ts",
  "lib/local/web/client-files.ts",
]);

function isListedPure({ path }: Source): boolean {
  return pureFiles.includes(path) || pureFolders.some((folder) => path.startsWith(folder));
}

/** The paths of the pure files: the listed ones and all that they load at run time. */
export function purePaths(sources: readonly Source[]): ReadonlySet<string> {
  return withAllTheyLoad(sources, isListedPure);
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
    name: "the task machine imports only the contract, zod and hashes",
    about: /^lambdas\/verification\/task\//,
    mustNotImport: /^(?!(zod|node:crypto)$|contracts\/|lambdas\/verification\/task\/)/,
  },
  {
    name: "an engine receives the states and messages of its user, and does not know them",
    about: /^lambdas\/runtime\/engine\//,
    mustNotImport: /^contracts\/(?!errors\.ts$)/,
    mustNotSay: new RegExp(
      `["'](${taskSchema.shape.state.options.join("|")})["']|\\b(request|task)_?id\\b`,
      "i",
    ),
  },
  {
    name: "each store of the Verification zone's table says which records are listed together",
    about: /^lambdas\/verification\//,
    mustNotSay: /\bcreateDynamoTaskStore\((?![^;]*\bbucketOf\b)/,
  },
  {
    name: "the environment is read in the listed files only",
    about: anywhere,
    except: environmentFiles,
    mustNotImport: /^(node:)?process$/,
    mustNotSay: /\bprocess\s*(\?\.|\.)\s*env\b|\bprocess\s*\[|\}\s*=\s*process\b/,
  },
  {
    name: "code is loaded by an import of a literal name, except in the listed files",
    about: /^(contracts|lambdas|lib)\//,
    except: loaderFiles,
    // The other ways to load code are seen by no rule about imports.
    mustNotSay:
      /\bcreateRequire\b|\brequire\s*\(|\bimport\.meta\.resolve\b|\bimport\((?!(["'`])[^"'`$]*\1[,)])/,
  },
  {
    name: "the browser's code is no part of the server",
    about: anywhere,
    except: /^lib\/local\/web\/client\//,
    mustNotImport: /^lib\/local\/web\/client\/|\.tsx$/,
  },
  {
    name: "the browser's code makes no HTML of a text, and loads nothing from elsewhere",
    about: /^lib\/local\/web\/client\//,
    mustNotSay: /(inner|outer|adjacent)HTML|document\.write|\beval\(|srcdoc|https?:/i,
  },
  {
    name: "zod is imported whole, since its named import drags every locale into a bundle",
    about: anywhere,
    mustNotImportAs: /^(?!import (type )?\* as z from "zod(\/mini)?")[\s\S]*["']zod["'/]/,
  },
  {
    name: "each client of the AWS SDK says in its user agent that Sekisho calls",
    about: anywhere,
    mustNotSay:
      /\bnew (?!SocketMode)(?:\w+\.)?[A-Z]\w+Client\((?![^;]*\b(?:customUserAgent|settings|options)\b)/,
  },
  {
    name: "nothing is exported as default",
    about: anywhere,
    // CommonJS is read as one default export.
    except: /\.cjs$/,
    mustNotSay: /\bexport default\b|\bas default\b/,
  },
  {
    name: "no file hands on the exports of another, except the entries of a package",
    about: anywhere,
    except: /^(contracts|lambdas\/execution|lib\/cdk|lib\/conformance)\/(index|agent)\.ts$/,
    mustNotImportAs: /^export\b/,
  },
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
];

/** Types included. It has no exceptions. */
export const circleRule = "no files and no folders import each other in a circle";

/** Holds for the files in `pure-files.ts` and for all that they load. */
export const pureRule: Rule = {
  name: "pure code has no SDK, no clock, no timer, no random source, no environment",
  about: anywhere,
  mayLoad: /^(zod(\/mini)?|node:crypto)$|^(contracts|lambdas)\/|^lib\/cli\/(table|shell)\.ts$/,
  mustNotSay:
    // `in-process` is the name of a transport, and `sec-fetch-site` that of a header.
    /(?<!in-|sec-)\b(Date\.now|performance|Math\.random|random(UUID|Bytes|Int|Fill)|getRandomValues|set(Timeout|Interval|Immediate)|fetch|process)\b|\bnew Date\b(?!\([^)])|\bDate\(\)/,
};

/** One line per violation: path, rule, and what was found. */
export function violations(sources: readonly Source[]): readonly string[] {
  const pure = purePaths(sources);
  const ofSources = sources.flatMap((source) => {
    const asked = pure.has(source.path) ? [...rules, pureRule] : rules;
    const violationTexts = asked.flatMap((rule) =>
      breaches(rule, source).map((what) => `${source.path}: ${rule.name}: ${what}`),
    );
    return [...violationTexts, ...listPackageBreaches(source), ...listLayerBreaches(source)];
  });
  const circles = findCircles(sources.filter(({ path }) => anywhere.test(path)));
  return [
    ...ofSources,
    ...circles.map(({ path, imports }) => `${path}: ${circleRule}: ${imports.join(", ")}`),
  ];
}

function breaches(rule: Rule, { path, code, imports }: Source): readonly string[] {
  if (!rule.about.test(path) || isExcepted(rule, path)) return [];
  const { mayLoad, mustNotImport, mustNotImportAs, mustNotSay } = rule;
  return [
    ...imports
      .filter((one) => mayLoad && !one.typeOnly && !mayLoad.test(one.target))
      .map((one) => one.target),
    ...imports.filter((one) => mustNotImport?.test(one.target)).map((one) => one.target),
    ...imports.filter((one) => mustNotImportAs?.test(one.statement)).map((one) => one.statement),
    ...(mustNotSay?.exec(code)?.slice(0, 1) ?? []),
  ];
}

function isExcepted({ except }: Rule, path: string): boolean {
  return except instanceof RegExp ? except.test(path) : (except?.has(path) ?? false);
}
