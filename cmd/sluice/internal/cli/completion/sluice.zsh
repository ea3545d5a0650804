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
  compadd -S '' -l -d showns -- "${fulls[@]}"
}
if [ "${funcstack[1]}" = "_sluice" ]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
