/** Starts debugpy's adapter on the interpreter of the configuration. */
const vscode = require("vscode");

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("stock", {
      createDebugAdapterDescriptor: ({ configuration }) =>
        new vscode.DebugAdapterExecutable(configuration.python, ["-m", "debugpy.adapter"]),
    }),
  );
};
