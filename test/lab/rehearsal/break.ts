/** Makes good templates bad in one place, to see whether the rehearsal notices. */
import type { Assembly, Template } from "./template/assembly.ts";

type RawResource = Template["Resources"][string];

/** Returns a copy in which `edit` has changed the resources of the type that `which` picks. Throws if there is none. */
export function broken({
  assembly,
  type,
  which = () => true,
  edit,
}: {
  assembly: Assembly;
  type: string;
  which?: (logicalId: string, resource: RawResource) => boolean;
  edit: (properties: Record<string, unknown>) => unknown;
}): Assembly {
  return edited(assembly, `There is no ${type} to break.`, (logicalId, resource) => {
    if (resource.Type !== type || !which(logicalId, resource)) return 0;
    edit(resource.Properties);
    return 1;
  });
}

/** Returns a copy in which no role may do `action`. Throws if none could before. */
export function without({ assembly, action }: { assembly: Assembly; action: string }): Assembly {
  function strip(value: unknown): number {
    if (typeof value !== "object" || value === null) return 0;
    let edits = 0;
    if ("Effect" in value && "Action" in value) {
      const actions = [value.Action].flat();
      const kept = actions.filter((candidate) => candidate !== action);
      edits = actions.length - kept.length;
      value.Action = kept.length > 0 ? kept : "none:None";
    }
    return Object.values(value).reduce<number>((sum, entry) => sum + strip(entry), edits);
  }
  return edited(assembly, `Nothing allows ${action}.`, (_, resource) =>
    resource.Type.startsWith("AWS::IAM::") ? strip(resource) : 0,
  );
}

/** `edit` returns the number of its changes. Throws with `problem` if there was none. */
function edited(
  assembly: Assembly,
  problem: string,
  edit: (logicalId: string, resource: RawResource) => number,
): Assembly {
  let edits = 0;
  const stacks = assembly.stacks.map((stack) => {
    const template = structuredClone(stack.template);
    for (const [logicalId, resource] of Object.entries(template.Resources))
      edits += edit(logicalId, resource);
    return { ...stack, template };
  });
  if (edits === 0) throw new Error(problem);
  return { ...assembly, stacks };
}
