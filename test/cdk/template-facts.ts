/** The part of the templates that a refactoring must not change, as lines for a golden file. */
import type { Resource, Synthesized } from "./synth.ts";

/** Fields with a physical name. A changed name replaces the resource, and the data of the old one is lost. */
const nameFields = /^(\w*Name|Name|Namespace|Path|AliasName)$/;
const namesOnly = /^AWS::(?!IAM::|CloudWatch::Alarm$|Lambda::Permission$|Lambda::EventSourceMapping$)/;

/**
 * Returns one line per resource: its stack, logical id, type, facts as JSON, and the letters of the variants that have it. The facts
 * of IAM resources, alarms, permissions and event sources are all their properties. Those of other resources are their physical names
 * and their policies.
 */
export function templateFacts(made: ReadonlyMap<string, Synthesized>): string {
  const letters = [...made.keys()].map((name, index) => ({ name, letter: String.fromCharCode(65 + index) }));
  const lines = new Map<string, string>();
  for (const { name, letter } of letters) {
    for (const { zone, resources } of made.get(name)?.stacks.values() ?? []) {
      for (const resource of resources) {
        const line = `${zone} ${resource.id} ${resource.type} ${JSON.stringify(factsOf(resource))}`;
        lines.set(line, `${lines.get(line) ?? ""}${letter}`);
      }
    }
  }
  const legend = letters.map(({ name, letter }) => `${letter} = ${name}`);
  const rows = [...lines].map(([line, variants]) => `${line} ${variants}`).sort();
  return `${[...legend, ...rows].join("\n")}\n`;
}

function factsOf({ type, properties, deletionPolicy }: Resource): Record<string, unknown> {
  const { AlarmDescription: _text, ...known } = properties;
  const facts = Object.entries(known).filter(
    ([field]) => !namesOnly.test(type) || nameFields.test(field) || /Policy(Document)?$|^Policies$/.test(field),
  );
  return { ...Object.fromEntries(facts), ...(deletionPolicy === undefined ? {} : { deletionPolicy }) };
}
