/** The packages as data, in the order of docs/explanation/architecture.md: each imports packages above it only. */
import type { Source } from "./source.ts";

export type Package = {
  /** The folder, and the name by which others import it. */
  folder: string;
  name: string;
  /** The packages that it may import. */
  mayImport: readonly string[];
  /** Its folders and files from top to bottom. Each imports what is below it; folders and files of one line do not import each other. */
  layers: readonly (readonly string[])[];
};

export const packages: readonly Package[] = [
  {
    folder: "contracts/",
    name: "@sekisho/contracts",
    mayImport: [],
    layers: [
      ["generate.ts"],
      ["generated-files.ts"],
      ["index.ts", "openrpc.ts"],
      ["error-data.ts"],
      ["a2a/", "dialects.ts", "examples.ts"],
      ["asker-claims.ts", "asker.ts", "completion.ts", "field-values.ts", "methods.ts"],
      ["answer-rules.ts", "certainty.ts", "envelope.ts", "question-fields.ts", "sign-in.ts"],
      ["errors.ts", "json-schema.ts", "json-size.ts", "limits.ts"],
      ["loopback.ts", "optional-field.ts", "version.ts"],
    ],
  },
  {
    folder: "lambdas/runtime/",
    name: "@sekisho/runtime",
    mayImport: ["@sekisho/contracts"],
    layers: [
      ["auth/", "engine/"],
      ["telemetry/"],
      ["aws/", "log.ts", "public-fetch/", "repeated-keys.ts"],
      ["http/"],
      ["asker/"],
      ["async/", "compiled-schema.ts", "minute-limiter.ts", "shown-json.ts", "text-file.ts"],
      ["untrusted-input.ts"],
      ["command-line.ts", "error-kind.ts", "project-directory.ts", "redact.ts", "stack-frames.ts"],
      ["unique-id.ts", "version.ts", "visible-text.ts"],
    ],
  },
  {
    folder: "lambdas/config/",
    name: "@sekisho/config",
    mayImport: ["@sekisho/contracts", "@sekisho/runtime"],
    layers: [
      ["authorizers.ts", "generate.ts", "live-settings.ts"],
      ["json-schema.ts", "load.ts"],
      ["agent-destinations.ts", "cross-checks.ts"],
      ["call-time.ts", "deployed.ts", "execution-asker.ts", "stage-config.ts", "valid-parts.ts"],
      ["destination-address.ts", "schema.ts"],
      [
        "agent-list.ts",
        "destination-schema.ts",
        "environment.ts",
        "execution-schema.ts",
        "remote-agent.ts",
      ],
      [
        "agent-schema.ts",
        "asker-schema.ts",
        "authorizer-needs.ts",
        "log-settings.ts",
        "telemetry/",
      ],
      ["a2a-schema.ts", "authenticator-schema.ts", "authorizer-schema.ts", "proxy-environment.ts"],
      ["secrets.ts", "slack-schema.ts", "stage-schema.ts", "stage-secrets.ts"],
      ["telemetry-schema.ts"],
      [
        "agentcore-session.ts",
        "config-error.ts",
        "request-template.ts",
        "unknown-key.ts",
        "values.ts",
      ],
    ],
  },
  {
    folder: "lambdas/execution/",
    name: "@sekisho/execution",
    mayImport: ["@sekisho/contracts", "@sekisho/runtime", "@sekisho/config"],
    layers: [
      ["index.ts"],
      ["handlers/"],
      ["host.ts"],
      ["http/"],
      ["execution-worker.ts", "methods/"],
      ["a2a/", "aws-engine.ts", "host-settings.ts", "runs/"],
      ["agent.ts", "authenticator/"],
      ["tasks/"],
      ["exchange.ts"],
      ["received-asker.ts"],
      ["agents/", "config/", "limits.ts", "params-error.ts"],
    ],
  },
  {
    folder: "lambdas/verification/",
    name: "@sekisho/verification",
    mayImport: ["@sekisho/contracts", "@sekisho/runtime", "@sekisho/config"],
    layers: [
      ["handlers/"],
      ["ingress/", "oauth/", "worker/"],
      ["checks/"],
      ["destinations.ts"],
      ["config/", "files/", "gate/", "lookups/", "transport/", "usage/", "zone-secret.ts"],
      ["installations/", "slots.ts"],
      ["slack/"],
      ["task/"],
    ],
  },
  {
    folder: "lib/cdk/",
    name: "@sekisho/cdk",
    mayImport: ["@sekisho/runtime", "@sekisho/config"],
    layers: [
      ["app.ts", "index.ts"],
      ["stage.ts"],
      ["execution-zone.ts", "verification-zone.ts"],
      ["constructs/", "identity.ts"],
      ["placement.ts", "stage-settings.ts"],
      ["bundle/", "names.ts", "outputs.ts"],
    ],
  },
  {
    folder: "lib/conformance/",
    name: "@sekisho/conformance",
    mayImport: ["@sekisho/contracts", "@sekisho/runtime"],
    layers: [
      ["main.ts"],
      ["environment.ts"],
      ["index.ts", "options.ts", "reports.ts"],
      ["conformance.ts"],
      ["cases/"],
      ["case.ts"],
      ["probe.ts", "tasks.ts"],
      ["expect.ts"],
      ["asker.ts", "peer.ts"],
      ["sender.ts"],
      ["deviation.ts", "file-server.ts", "leaks.ts", "mask.ts", "raw-json.ts", "strangers.ts"],
    ],
  },
  {
    folder: "lib/local/",
    name: "@sekisho/local",
    mayImport: [
      "@sekisho/contracts",
      "@sekisho/runtime",
      "@sekisho/config",
      "@sekisho/execution",
      "@sekisho/verification",
    ],
    layers: [
      ["both-zones.ts", "page/", "web/client/"],
      ["recorder/", "verification-zone.ts"],
      ["fake-slack/", "metrics-page.ts", "open-destination.ts", "watch/"],
      ["execution-zone.ts", "signed-events.ts", "socket-mode-choice.ts", "socket-mode.ts", "web/"],
      [
        "asker-keys.ts",
        "author/",
        "file-store.ts",
        "folder-lock.ts",
        "free-port.ts",
        "listeners.ts",
        "own-aws.ts",
      ],
      [
        "key-file.ts",
        "landing.ts",
        "read-json.ts",
        "slack-installation.ts",
        "socket-mode-identity.ts",
        "terminal-log.ts",
      ],
    ],
  },
  {
    folder: "lib/cli/",
    name: "@sekisho/sekisho",
    mayImport: [
      "@sekisho/contracts",
      "@sekisho/runtime",
      "@sekisho/config",
      "@sekisho/execution",
      "@sekisho/verification",
      "@sekisho/cdk",
      "@sekisho/conformance",
      "@sekisho/local",
    ],
    layers: [
      ["entry.mjs"],
      ["main.ts"],
      ["start/"],
      ["operate/"],
      ["doctor/"],
      ["config/", "data/", "send/"],
      ["conformance/", "init/"],
      ["agents/", "asker/"],
      ["destinations/", "usage/"],
      ["tasks/"],
      ["allow/", "names/", "zone-secret/"],
      ["dead-letters/", "execution/", "federation/", "manifest/", "secrets/"],
      ["verification/", "zone/"],
      ["aws/", "find-endpoint.ts", "slack-secrets.ts", "watch-command.ts"],
      ["command.ts", "confirm.ts", "dot-env.ts", "open-sender.ts", "package-name.ts", "shell.ts"],
      ["set-member.ts", "table.ts"],
    ],
  },
];

export const packageRule = "a package imports what it may, by name, and its own files by path";
export const layerRule = "inside a package, imports go down";

/** Every source below these folders is in a package. */
const packageFolders = /^(contracts|lambdas|lib)\//;

export function packageOf(path: string): Package | undefined {
  return packages.find(({ folder }) => path.startsWith(folder));
}

/** One line per import that a package must not have. */
export function listPackageBreaches({ path, imports }: Source): readonly string[] {
  const own = packageOf(path);
  if (own === undefined) {
    return packageFolders.test(path) ? [`${path}: ${packageRule}: it is in no package`] : [];
  }
  const wrong = imports.filter(({ target, specifier }) => {
    const isRelative = specifier.startsWith(".");
    const other = packageOf(target);
    if (other === undefined) return isRelative || /^(\/|#|file:|data:)/.test(specifier);
    return other === own ? !isRelative : isRelative || !own.mayImport.includes(other.name);
  });
  return wrong.map(({ specifier }) => `${path}: ${packageRule}: ${specifier}`);
}

/** One line per import that goes up. */
export function listLayerBreaches({ path, imports }: Source): readonly string[] {
  const own = packageOf(path);
  if (own === undefined) return [];
  const place = findLayer(own, path);
  if (place === undefined) return [`${path}: ${layerRule}: it is in no layer`];
  const upward = imports.filter(({ target }) => {
    const other = findLayer(own, target);
    return other !== undefined && other.part !== place.part && other.depth <= place.depth;
  });
  return upward.map(({ target }) => `${path}: ${layerRule}: ${target}`);
}

function findLayer(
  { folder, layers }: Package,
  path: string,
): { part: string; depth: number } | undefined {
  for (const [depth, parts] of layers.entries()) {
    const part = parts.find((one) => path.startsWith(`${folder}${one}`));
    if (part !== undefined) return { part, depth };
  }
  return undefined;
}
