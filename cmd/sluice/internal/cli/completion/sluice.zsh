#compdef sluice
# Completion of sluice for zsh. To use it now: source <(sluice completion zsh)
_sluice() {
  local line full shown
  local -a fulls showns
  while IFS=$'\t' read -r full shown; do
    fulls+=("$full")
    showns+=("${shown:-$full}")
  done < <("${words[1]}" __words zsh 0 "$LBUFFER" "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#fulls} == 0 )); then
    _files
    return
  fi
  # A pipeline goes on behind what was completed; other words end there.
  if [[ ${words[CURRENT]} == [\'\"]* ]]; then
    compadd -S '' -l -d showns -- "${fulls[@]}"
  else
    compadd -l -d showns -- "${fulls[@]}"
  fi
}
if [ "${funcstack[1]}" = "_sluice" ]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
