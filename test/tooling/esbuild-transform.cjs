/** Jest transform: strips types and turns one file into CommonJS; `import.meta` becomes what CommonJS knows. */
const { transformSync } = require("esbuild");

module.exports = {
  process(source, filename) {
    const { code } = transformSync(source, {
      loader: "ts",
      format: "cjs",
      target: "node22",
      sourcefile: filename,
      sourcemap: "inline",
      supported: { "dynamic-import": false },
      define: { "import.meta.url": "importMetaUrl", "import.meta.dirname": "__dirname" },
      banner: 'const importMetaUrl = require("node:url").pathToFileURL(__filename).href;',
    });
    return { code };
  },
};
