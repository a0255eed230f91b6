/** Completion scripts call `gpuaas __complete` for the words, so they are never out of date with the commands. */
import { command, type Group } from '../command.ts';

const SCRIPTS = {
  bash: `# source <(gpuaas completion bash)
_gpuaas() {
  local IFS=$'\\n'
  COMPREPLY=($(gpuaas __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _gpuaas gpuaas`,
  zsh: `#compdef gpuaas
# source <(gpuaas completion zsh)
_gpuaas() {
  local -a found
  local word text
  while IFS=$'\\t' read -r word text; do found+=("\${word//:/\\\\:}:$text"); done < <(gpuaas __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#found} )) && _describe gpuaas found || _files
}
compdef _gpuaas gpuaas`,
  fish: `# gpuaas completion fish | source
complete -c gpuaas -f -a '(gpuaas __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
} as const;

const shell = (name: keyof typeof SCRIPTS) =>
  command({
    name,
    summary: `script for ${name}`,
    run: async ({ out }) => out.print(SCRIPTS[name]),
  });

export const completion: Group = {
  name: 'completion',
  summary: 'Shell completion',
  commands: [shell('bash'), shell('zsh'), shell('fish')],
};
