/** An agent of Mastra with a memory, behind an endpoint of AG-UI. */
import { MastraAgent } from "@ag-ui/mastra";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { Memory } from "@mastra/memory";
import * as z from "zod";
import { createLanguageModel } from "./language-model.ts";
import { listen } from "./listen.ts";
import { tell } from "./parent.ts";
import { toolResults } from "./script.ts";
import { serveAgUi } from "./serve-ag-ui.ts";

const storage = new InMemoryStore();
const inputSchema = z.object({ about: z.string() });

const agent = new Agent({
  ...{ id: "scripted", name: "scripted", instructions: "Follow the script." },
  // Its type expects that both methods of a model return a stream.
  model: createLanguageModel() as never,
  memory: new Memory({ storage }),
  tools: {
    look_up: createTool({
      ...{ id: "look_up", description: "look_up", inputSchema },
      execute: async () => toolResults.look_up,
    }),
    delete_file: createTool({
      ...{ id: "delete_file", description: "delete_file", inputSchema },
      suspendSchema: z.object({ question: z.string() }),
      resumeSchema: z.object({ approved: z.boolean() }),
      async execute(_input, { agent: run }) {
        if (run?.resumeData === undefined)
          return run?.suspend({ question: "Delete the file?" }) as never;
        return run.resumeData.approved ? toolResults.delete_file : "The file is kept.";
      },
    }),
  },
});
new Mastra({ agents: { scripted: agent }, storage, logger: false });

const url = await listen({
  "/": serveAgUi(() => new MastraAgent({ agent, resourceId: "person" })),
});
tell({ event: "ready", urls: { agUi: `${url}/` } });
