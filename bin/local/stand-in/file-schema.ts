/** What the stand-in keeps of a file beside its bytes, as it is read again from a disk. */
import * as z from "zod";

export const fileSchema = z.object({
  id: z.string(),
  name: z.string(),
  title: z.string(),
  mimetype: z.string(),
  size: z.int(),
  team: z.string(),
  user: z.string(),
});
