# Completion of sluice for bash. To use it now: source <(sluice completion bash)
_sluice() {
  local IFS=$'\n'
  local words=("${COMP_WORDS[@]:1:COMP_CWORD}")
  # What is behind the cursor is no part of the word. Readline gives only the whole line.
  local before=${COMP_LINE:0:COMP_POINT}
  COMPREPLY=($("${COMP_WORDS[0]}" __words bash "$COMP_TYPE" "$before" "${words[@]}" 2>/dev/null))
  # A pipeline goes on behind what was completed; other words end there.
  if [[ ${COMP_WORDS[COMP_CWORD]} == [\'\"]* ]]; then
    compopt -o nospace
    compopt -o nosort 2>/dev/null
  fi
  return 0
}
complete -o bashdefault -o default -F _sluice sluice
