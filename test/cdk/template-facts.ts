/** The part of the templates that a change of structure or names must leave alone, as lines for a golden file. */
import type { Resource, Synthesized } from "./synth.ts";

/** Fields that fix a physical name. Another name means another resource, and the data of the old one is lost. */
const nameFields = /^(\w*Name|Name|Namespace|Path|AliasName)$/;
const namesOnly = /^AWS::(?!IAM::|CloudWatch::Alarm$|Lambda::Permission$|Lambda::EventSourceMapping$)/;

/**
 * One line per resource: the variants that have it (by letter), its stack, logical id, type and facts as JSON.
 * The facts of IAM resources, alarms, permissions and event sources are all their properties;
 * of other resources, their physical names and their policies.
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
