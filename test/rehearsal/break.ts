/** Good templates made bad in one place, to see whether the rehearsal notices. */
import type { Assembly, Template } from "./template/assembly.ts";

type RawResource = Template["Resources"][string];

/** A copy of the assembly in which `edit` has changed each resource of the type that `which` picks. Throws where none is. */
export function broken({
  assembly,
  type,
  which = () => true,
  edit,
}: {
  assembly: Assembly;
  type: string;
  which?: (logicalId: string, resource: RawResource) => boolean;
  edit: (properties: Record<string, unknown>) => void;
}): Assembly {
  let edits = 0;
  const stacks = assembly.stacks.map((stack) => {
    const template = structuredClone(stack.template);
    for (const [logicalId, resource] of Object.entries(template.Resources)) {
      if (resource.Type !== type || !which(logicalId, resource)) continue;
      edit(resource.Properties);
      edits++;
    }
    return { ...stack, template };
  });
  if (edits === 0) throw new Error(`There is no ${type} to break.`);
  return { ...assembly, stacks };
}

/** A copy in which no role's policy allows `action` any more. */
export function without({ assembly, action }: { assembly: Assembly; action: string }): Assembly {
  let edits = 0;
  function strip(value: unknown): void {
    if (typeof value !== "object" || value === null) return;
    if ("Effect" in value && "Action" in value) {
      const actions = [value.Action].flat();
      const kept = actions.filter((candidate) => candidate !== action);
      edits += actions.length - kept.length;
      value.Action = kept.length > 0 ? kept : "none:None";
    }
    for (const entry of Object.values(value)) strip(entry);
  }
  const stacks = assembly.stacks.map((stack) => {
    const template = structuredClone(stack.template);
    for (const resource of Object.values(template.Resources))
      if (resource.Type.startsWith("AWS::IAM::")) strip(resource);
    return { ...stack, template };
  });
  if (edits === 0) throw new Error(`Nothing allows ${action}.`);
  return { ...assembly, stacks };
}
